#include "desk/cli/output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "desk/cli/units.h"

namespace xsp::cli {
namespace {

using store::Value;

Terminal plain(size_t width = 100) {
  Terminal terminal;
  terminal.width = width;
  terminal.utf8 = true;
  return terminal;
}

Sheet layers() {
  Sheet sheet;
  sheet.title = "Layers";
  sheet.columns = {{"batch", "count", ""},
                   {"name", "text", ""},
                   {"latency_ns", "ns", ""},
                   {"memory_bytes", "bytes", ""}};
  for (const analyze::Column& column : sheet.columns)
    sheet.table.columns.push_back({column.name, ""});
  const std::pair<const char*, int64_t> rows[] = {
      {"first", 1500000}, {"second", 12000000}, {"third", 500000}, {"fourth", 6000000}};
  for (const auto& [name, latency] : rows) {
    sheet.table.rows.push_back({int64_t{1}, std::string(name), latency, Value()});
  }
  sheet.view.options = {
      {"caption", "batch"}, {"by", "latency_ns"}, {"top", "2"}, {"bar", "latency_ns"}};
  return sheet;
}

TEST(Output, TableShowsTheLargestAndSaysWhatIsLeftOut) {
  EXPECT_EQ(render(layers(), {}, plain()),
            "Layers, batch 1\n"
            "\n"
            "name    latency\n"
            "             ms\n"
            "second    12.00  ████████████████████████\n"
            "fourth     6.00  ████████████\n"
            "… and 2 more (10.0 % of the time): --all shows them\n"
            "not measured: memory\n");
}

// Rows that belong together stay together, and no large one is left out for a small one before it.
TEST(Output, TableShowsTheLargestInItsOwnOrder) {
  Sheet sheet = layers();
  sheet.view.options = {{"caption", "batch"}, {"top", "2"}, {"largest", "latency_ns"}};
  std::swap(sheet.table.rows[1], sheet.table.rows[3]);
  EXPECT_EQ(render(sheet, {}, plain()),
            "Layers, batch 1\n"
            "\n"
            "name    latency\n"
            "             ms\n"
            "fourth     6.00\n"
            "second    12.00\n"
            "… and 2 more: --all shows them\n"
            "not measured: memory\n");
}

TEST(Output, AColumnWithoutANumberHasNoUnit) {
  Sheet sheet = layers();
  sheet.title.clear();
  sheet.columns[3] = {"latency_low_ns", "ns", ""};
  sheet.view.options = {{"columns", "latency_ns,latency_low_ns"}};
  EXPECT_EQ(render(sheet, {}, plain()).rfind("latency  latency low\n     ms\n", 0), 0u)
      << render(sheet, {}, plain());
}

// A ceiling that differs between layers, or that some layers lack, is not a caption of the table.
TEST(Output, CaptionsAreTheSameInEveryRow) {
  Sheet sheet = layers();
  sheet.view.options["caption"] = "memory_bytes,batch";
  EXPECT_EQ(render(sheet, {}, plain()).rfind("Layers, batch 1\n", 0), 0u);
  sheet.table.rows[3][0] = int64_t{2};
  EXPECT_EQ(render(sheet, {}, plain()).rfind("Layers\n", 0), 0u);
  for (auto& row : sheet.table.rows) row[3] = int64_t{1024};
  EXPECT_EQ(render(sheet, {}, plain()).rfind("Layers, memory 1.00 KiB\n", 0), 0u);
}

TEST(Output, AllShowsEveryRow) {
  OutputOptions options;
  options.all = true;
  const std::string text = render(layers(), options, plain());
  EXPECT_NE(text.find("third"), std::string::npos);
  EXPECT_EQ(text.find("more"), std::string::npos);
}

TEST(Output, TopShowsSoMany) {
  OutputOptions options;
  options.top = 1;
  const std::string text = render(layers(), options, plain());
  EXPECT_EQ(text.find("fourth"), std::string::npos);
  EXPECT_NE(text.find("and 3 more (40.0 % of the time)"), std::string::npos);
}

TEST(Output, TopIsTheSameRowsInEachFormat) {
  Sheet sheet = layers();
  OutputOptions options;
  options.top = 1;
  const std::string table = render(sheet, options, plain());
  for (const Format format : {Format::kCsv, Format::kJson, Format::kMarkdown}) {
    options.format = format;
    const std::string text = render(sheet, options, plain());
    for (const char* name : {"first", "second", "third", "fourth"}) {
      EXPECT_EQ(text.find(name) == std::string::npos, table.find(name) == std::string::npos)
          << name << " in " << text;
    }
  }
}

TEST(Output, WithoutUtf8NoByteIsBeyondAscii) {
  Terminal terminal = plain();
  terminal.utf8 = false;
  for (const char c : render(layers(), {}, terminal)) EXPECT_GE(c, 0) << c;
}

TEST(Output, LongTextIsNarrowedToTheTerminal) {
  Sheet sheet = layers();
  sheet.table.rows[1][1] = std::string(300, 'a') + "end";
  const std::string text = render(sheet, {}, plain(60));
  EXPECT_NE(text.find("…"), std::string::npos);
  EXPECT_NE(text.find("end "), std::string::npos);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    EXPECT_LE(width_of(text.substr(at, end - at)), 60u);
    at = end + 1;
  }
}

// Every word of a sentence is shown, on lines that fit. The row's figures are on its first line.
TEST(Output, SentencesAreWrappedAndNeverCut) {
  Sheet sheet = layers();
  const std::string sentence =
      "The GPU has no kernel for 3.15 ms of 3.96 ms, as the host launches the next one.";
  sheet.table.rows[1][1] = sentence;
  const std::string text = render(sheet, {}, plain(60));
  EXPECT_EQ(text.find("…"), text.find("… and 2 more")) << text;
  std::istringstream words(sentence);
  for (std::string word; words >> word;) EXPECT_NE(text.find(word), std::string::npos) << word;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), 60u) << line;
}

// A long name in a sentence is shortened, and the words around it stay. A signature is a name.
TEST(Output, ALongNameDoesNotCutItsSentence) {
  Sheet sheet = layers();
  const std::string name =
      "nchwToNhwcKernel<__half,__half,float,true,false,(cudnnKernelDataType_t)0>";
  sheet.table.rows[1][1] = "Changing the layout takes long, mostly in " + name + ", of the time.";
  sheet.table.rows[3][1] = "void " + name + "(int, int, int)";
  const std::string text = render(sheet, {}, plain(60));
  for (const char* word : {"Changing", "layout", "mostly", "time."}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
  EXPECT_EQ(text.find(name), std::string::npos);
  EXPECT_NE(text.find("void nchw"), std::string::npos) << text;
  EXPECT_NE(text.find("int)"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), 60u) << line;
}

TEST(Output, ColumnsThatDoNotFitAreNamed) {
  store::Table table;
  table.rows.emplace_back();
  for (int i = 0; i < 30; ++i) {
    table.columns.push_back({"column" + std::to_string(i), "BIGINT"});
    table.rows[0].push_back(int64_t{i});
  }
  const std::string text = render(sheet_of(table), {}, plain(80));
  EXPECT_NE(text.find("column0"), std::string::npos);
  EXPECT_NE(text.find("too wide: column9, "), std::string::npos) << text;
  EXPECT_NE(text.find("column29: --format csv"), std::string::npos) << text;
}

TEST(Output, CellsStayOnTheirLine) {
  Sheet sheet = layers();
  sheet.table.rows[1][1] = std::string("two\nlines\x1b[31m");
  const std::string text = render(sheet, {}, plain());
  EXPECT_NE(text.find("two lines [31m"), std::string::npos);
}

TEST(Output, UnitsMayComeFromTheRow) {
  Sheet sheet;
  sheet.columns = {{"item", "text", ""}, {"value", "by:unit", ""}, {"unit", "text", ""}};
  for (const analyze::Column& column : sheet.columns)
    sheet.table.columns.push_back({column.name, ""});
  sheet.table.rows = {{std::string("latency"), 1234567.0, std::string("ns")},
                      {std::string("flops"), 8.2e9, std::string("flops")},
                      {std::string("name"), Value(), Value()}};
  sheet.view.options = {{"columns", "item,value"}};
  EXPECT_EQ(render(sheet, {}, plain()),
            "item          value\n"
            "latency    1.235 ms\n"
            "flops    8.20 Gflop\n"
            "name              -\n");
}

TEST(Output, CsvHasFullPrecisionAndQuotes) {
  store::Table table;
  table.columns = {{"name", "VARCHAR"}, {"x", "DOUBLE"}, {"n", "BIGINT"}, {"b", "BOOLEAN"}};
  table.rows = {{std::string("a,\"b\"\n"), 0.1, std::numeric_limits<int64_t>::max(), true},
                {Value(), Value(), Value(), Value()}};
  EXPECT_EQ(render_csv(table), "name,x,n,b\n\"a,\"\"b\"\"\n\",0.1,9223372036854775807,true\n,,,\n");
}

TEST(Output, JsonHasFullPrecisionAndNull) {
  store::Table table;
  table.columns = {{"name", "VARCHAR"}, {"x", "DOUBLE"}, {"n", "BIGINT"}};
  table.rows = {{std::string("a\"\xff"), 0.1, std::numeric_limits<int64_t>::max()},
                {Value(), std::nan(""), int64_t{-1}}};
  EXPECT_EQ(render_json(table),
            "[\n {\"name\":\"a\\\"\xEF\xBF\xBD\",\"x\":0.1,\"n\":9223372036854775807},\n"
            " {\"name\":null,\"x\":null,\"n\":-1}\n]\n");
  table.rows.clear();
  EXPECT_EQ(render_json(table), "[]\n");
}

TEST(Output, MarkdownIsATable) {
  OutputOptions options;
  options.format = Format::kMarkdown;
  Sheet sheet = layers();
  sheet.table.rows[1][1] = std::string("a|b");
  const std::string text = render(sheet, options, plain());
  EXPECT_NE(text.find("| name | latency (ms) |\n| --- | ---: |\n| a\\|b | 12.000 |\n"),
            std::string::npos)
      << text;
}

TEST(Output, UnitsOfUndescribedColumnsComeFromTheirNames) {
  EXPECT_EQ(unit_of_name("latency_ns", true), "ns");
  EXPECT_EQ(unit_of_name("flops_per_s", true), "flops_per_s");
  EXPECT_EQ(unit_of_name("throughput_per_s", true), "per_s");
  EXPECT_EQ(unit_of_name("columns", true), "number");
  EXPECT_EQ(unit_of_name("latency_ns", false), "text");
  EXPECT_EQ(label_of_name("peak_bytes_per_s", "bytes_per_s"), "peak");
  EXPECT_EQ(label_of_name("flops", "flops"), "flops");
}

TEST(Output, ScalesKeepWhatMatters) {
  EXPECT_EQ(Scale("ns", {20, 999}).label(), "ns");
  EXPECT_EQ(Scale("ns", {20, 2000}).label(), "us");
  EXPECT_EQ(Scale("bytes", {1048576}).label(), "MiB");
  EXPECT_EQ(Scale("count", {1}).text(1234567.0), "1,234,567");
  EXPECT_EQ(Scale("count", {1}).text(-123.0), "-123");
  EXPECT_EQ(Scale("pct", {1}).text(12.345), "12.3");
  // A column takes the scale of neighbours with larger values, unless its values would vanish.
  EXPECT_EQ(Scale("ns", {497000}, 5e7).label(), "ms");
  EXPECT_EQ(Scale("ns", {497000}, 5e7).text(497000.0), "0.497");
  EXPECT_EQ(Scale("ns", {497}, 5e7).label(), "ns");
  // A moment of UNIX time keeps every digit.
  EXPECT_EQ(Scale("ns", {1.7e18}).text(Value(int64_t{1700000000123456789})), "1700000000123456789");
  EXPECT_EQ(Scale("number", {1}).text(Value(int64_t{9007199254740993})), "9007199254740993");
}

// A reader compares them cell by cell.
TEST(Output, TheSidesOfAQuantityHaveOneUnit) {
  const std::vector<double> sides = {32.9e6, 25e3, 6.03e6, 9.66e3};
  EXPECT_EQ(Scale("ns", {32.9e6, 25e3}, 0, sides).label(), "ms");
  EXPECT_EQ(Scale("ns", {6.03e6, 9.66e3}, 0, sides).label(), "ms");
  EXPECT_EQ(Scale("ns", {6.03e6, 9.66e3}, 0, sides).text(9.66e3), "0.010");
  EXPECT_EQ(Scale("ns", {6.03e6, 960}, 0, {32.9e6, 960}).label(), "us");
}

TEST(Output, TheHeadersOfAQueryAreTheUsersOwn) {
  store::Table table;
  table.columns = {{"stopped_by", "VARCHAR"}, {"d_ns", "BIGINT"}, {"mean_ns", "DOUBLE"}};
  table.rows = {{std::string("width"), int64_t{12345678901}, 1234567.891},
                {std::string("time"), int64_t{24000000}, 0.5}};
  const std::string text = render(answer_sheet(table), {}, plain());
  EXPECT_EQ(text,
            "stopped_by         d_ns    mean_ns\n"
            "width       12345678901  1234567.9\n"
            "time           24000000        0.5\n");
}

TEST(Output, NoValueOfAColumnVanishesInItsUnit) {
  const Scale scale("ns", {3e6, 12e9, 13e9});
  EXPECT_EQ(scale.label(), "ms");
  EXPECT_EQ(scale.text(3e6), "3");
  EXPECT_EQ(scale.text(12e9), "12,000");
  EXPECT_EQ(Scale("ns", {900, 5e9}).label(), "ms");  // the smallest unit would have too many digits
}

}  // namespace
}  // namespace xsp::cli

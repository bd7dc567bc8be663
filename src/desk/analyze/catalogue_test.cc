#include "desk/analyze/catalogue.h"

#include <gtest/gtest.h>

#include <regex>

#include "desk/analyze/embedded.h"

namespace xsp::analyze {
namespace {

const char* const kGood =
    "-- @id a2\n"
    "-- @name layer_information\n"
    "-- @title Layer information\n"
    "-- @question What does each layer cost?\n"
    "-- Prose on\n"
    "-- two lines.\n"
    "-- @needs model,layer\n"
    "-- @param batch integer - The batch size.\n"
    "-- @view table top=20 by=latency_ns\n"
    "-- @column name text What it is called.\n"
    "-- @column latency_ns ns How long it takes.\n"
    "SELECT 'a' AS name, 1 AS latency_ns -- @id is no directive here\n";

std::string without(const std::string& line_start) {
  std::string text = kGood;
  const size_t at = text.find(line_start);
  return text.erase(at, text.find('\n', at) - at + 1);
}

std::string with(const std::string& line) { return line + "\n" + kGood; }

std::string error_of(const std::string& text) {
  const Result<Analysis> result = parse_analysis("file", text);
  return result.ok() ? "" : result.error().text;
}

TEST(Catalogue, ReadsAHeader) {
  const Result<Analysis> result = parse_analysis("file", kGood);
  ASSERT_TRUE(result.ok()) << result.error().text;
  EXPECT_EQ(result->id, "a2");
  EXPECT_EQ(result->name, "layer_information");
  EXPECT_EQ(result->title, "Layer information");
  EXPECT_EQ(result->question, "What does each layer cost?");
  EXPECT_EQ(result->description, "Prose on two lines.");
  EXPECT_EQ(result->needs, (std::vector<std::string>{"model", "layer"}));
  ASSERT_EQ(result->params.size(), 1u);
  EXPECT_EQ(result->params[0].default_value, "-");
  EXPECT_EQ(result->params[0].description, "The batch size.");
  ASSERT_EQ(result->columns.size(), 2u);
  EXPECT_EQ(result->columns[1].unit, "ns");
  ASSERT_NE(result->view("table"), nullptr);
  EXPECT_EQ(result->view("table")->options.at("by"), "latency_ns");
  EXPECT_EQ(result->view("pie"), nullptr);
  EXPECT_EQ(result->sql, kGood);
}

TEST(Catalogue, SaysWhatIsMissing) {
  EXPECT_NE(error_of(without("-- @id")).find("@id is missing"), std::string::npos);
  EXPECT_NE(error_of(without("-- @name")).find("@name is missing"), std::string::npos);
  EXPECT_NE(error_of(without("-- @title")).find("@title is missing"), std::string::npos);
  EXPECT_NE(error_of(without("-- @question")).find("@question is missing"), std::string::npos);
  EXPECT_NE(error_of("SELECT 1").find("@id is missing"), std::string::npos);
}

TEST(Catalogue, SaysWhichLineIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"-- @colour red", "unknown directive"},
      {"-- @needs layers", "'layers' is no level"},
      {"-- @param batch number - x", "type 'number'"},
      {"-- @param batch integer -", "no description"},
      {"-- @param batch integer>=x - y", "least value is not a number"},
      {"-- @param batch text>=1 - y", "least value is not a number"},
      {"-- @param batch integer> - y", "least value is not a number"},
      {"-- @column size bytes How big.", "does not end in its unit"},
      {"-- @column latency_ns fortnight x", "unknown unit"},
      {"-- @column latency_ns ns", "no description"},
      {"-- @view table top", "not key=value"},
      {"-- @id A 2", "not one word"},
  };
  for (const auto& [line, expected] : cases) {
    const std::string error = error_of(with(line));
    EXPECT_NE(error.find(expected), std::string::npos) << line << ": " << error;
    EXPECT_NE(error.find("analyses/file.sql:1: "), std::string::npos) << error;
  }
}

TEST(Catalogue, AViewGoesOnInAnotherLine) {
  const std::string text = with("-- @view bar columns=name top=2\n-- @view bar columns=latency_ns");
  const Result<Analysis> result = parse_analysis("file", text);
  ASSERT_TRUE(result.ok()) << result.error().text;
  ASSERT_NE(result->view("bar"), nullptr);
  EXPECT_EQ(result->view("bar")->options.at("columns"), "name,latency_ns");
  EXPECT_EQ(result->view("bar")->options.at("top"), "2");
}

TEST(Catalogue, RefusesAViewOfAColumnThatIsNotThere) {
  EXPECT_NE(error_of(with("-- @view bar x=name y=speed")).find("no column 'speed'"),
            std::string::npos);
  EXPECT_NE(error_of(with("-- @view table columns=name\n-- @view table columns=value,name"))
                .find("columns has 'name' twice"),
            std::string::npos);
  EXPECT_NE(error_of(with("-- @column value by:kind x")).find("no column 'kind'"),
            std::string::npos);
}

TEST(Catalogue, RefusesDuplicates) {
  const Result<std::vector<Analysis>> result = parse_catalogue({{"one", kGood}, {"two", kGood}});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text.find("'a2' is taken"), std::string::npos) << result.error().text;
}

TEST(Catalogue, GivesRulesToTheAnalysisOfTheirFolder) {
  const char* const rule = "-- @title Cold\n-- @rule It is cold.\n-- @needs clocks\nSELECT 1\n";
  const Result<std::vector<Analysis>> result = parse_catalogue(
      {{"layer_information/warm", rule},
       {"x1", kGood},
       {"layer_information/cold", rule},
       {"layer_information/prelude_1", "-- @needs model\nCREATE TEMP TABLE found(a INTEGER)"}});
  ASSERT_TRUE(result.ok()) << result.error().text;
  ASSERT_EQ(result->size(), 1u);
  const Analysis& one = result->front();
  ASSERT_EQ(one.rules.size(), 2u);
  EXPECT_EQ(one.rules[0].name, "cold");
  EXPECT_EQ(one.rules[0].title, "Cold");
  EXPECT_EQ(one.rules[0].sentence, "It is cold.");
  EXPECT_EQ(one.rules[0].needs, (std::vector<std::string>{"clocks"}));
  EXPECT_EQ(one.rules[0].sql, rule);
  ASSERT_EQ(one.facts.size(), 1u);
  EXPECT_EQ(one.facts[0].needs, (std::vector<std::string>{"model"}));
}

TEST(Catalogue, RefusesARuleThatIsWrong) {
  const auto error = [](const char* name, const char* text) {
    const auto result = parse_catalogue({{"x1", kGood}, {name, text}});
    return result.ok() ? "" : result.error().text;
  };
  EXPECT_NE(error("layers/cold", "-- @title T\n-- @rule R.\n").find("no analysis has the folder"),
            std::string::npos);
  EXPECT_NE(error("layer_information/cold", "-- @rule R.\n").find("@title is missing"),
            std::string::npos);
  EXPECT_NE(error("layer_information/cold", "-- @title T\n").find("@rule is missing"),
            std::string::npos);
  EXPECT_NE(error("layer_information/cold", "-- @id a2\n").find("unknown directive"),
            std::string::npos);
  EXPECT_NE(error("layer_information/co-ld", "-- @title T\n-- @rule R.\n").find("not one word"),
            std::string::npos);
}

TEST(Catalogue, ReadsWhatIsCompiledIn) {
  ASSERT_TRUE(catalogue().ok()) << catalogue().error().text;
  const std::vector<Analysis>& list = catalogue().value();
  ASSERT_GT(list.size(), 2u);
  EXPECT_EQ(list[0].id, "a1");
  EXPECT_EQ(list[1].id, "a2");  // a10 comes later, in order of number
}

// DuckDB computes a filtered aggregate over a window anew for each row, which takes minutes for
// 100,000s of rows. CASE inside the aggregate gives the same in a moment.
TEST(Catalogue, NoWindowHasAFilter) {
  const std::regex filtered_window(R"(FILTER\s*\([^()]*(\([^()]*\)[^()]*)*\)\s*OVER)");
  for (const auto& [name, text] : embedded_sql()) {
    const std::string sql(text);
    std::smatch found;
    EXPECT_FALSE(std::regex_search(sql, found, filtered_window)) << name << ": " << found.str();
  }
}

TEST(Catalogue, FindsByIdAndByName) {
  for (const char* word : {"a2", "A2", "layer_information", "layer-information"}) {
    const Result<const Analysis*> found = find(word);
    ASSERT_TRUE(found.ok()) << found.error().text;
    EXPECT_EQ((*found)->id, "a2");
  }
}

TEST(Catalogue, SuggestsWhatWasMeant) {
  const Result<const Analysis*> found = find("layer_informatoin");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::kUsage);
  EXPECT_NE(found.error().text.find("did you mean 'layer_information'"), std::string::npos);
}

}  // namespace
}  // namespace xsp::analyze

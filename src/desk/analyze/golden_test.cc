// Every analysis has a .test file beside it, with fixtures, parameters and expected rows. Each file
// is a test case. Every rule of an analysis has one, too; its runs are those of the analysis with
// that rule alone.
//
//     # The purpose of the case.
//     csv tests/data/FILE.csv TABLE      a CSV file as a table of doubles, before the fixtures
//     fixture NAME                       runs tests/data/NAME.sql
//     fresh                              goes on with an empty database
//     sql                                runs the statements up to `end`
//     ...
//     end
//     run batch=2 rule=peak              runs the analysis; the lines up to `end` are its rows as
//     a,b                                CSV, numbers in six significant digits
//     1,2
//     end
//     run batch=x                        or the error that it must give
//     error ...
//     end
//
// With XSP_UPDATE_GOLDEN=1 the files are rewritten with the results: review the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "tests/places.h"
#include "tests/text.h"

namespace xsp::analyze {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = places::source();

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string cell_text(const store::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.6g", *real);
    return buffer;
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    const bool is_quoted = text->find_first_of(",\"") != std::string::npos;
    return is_quoted ? "\"" + *text + "\"" : *text;
  }
  return "";
}

std::string table_text(const store::Table& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += (i == 0 ? "" : ",") + table.columns[i].name;
  }
  text += "\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + cell_text(row[i]);
    text += "\n";
  }
  return text;
}

// Runs one .test file line by line, and prints the file as it should be.
class Script {
 public:
  // `parameters` apply to every run, in addition to those in the file.
  Script(const Analysis& analysis, const Parameters& parameters)
      : analysis_(analysis), parameters_(parameters) {}

  void play(const std::vector<std::string>& lines) {
    start();
    for (size_t i = 0; i < lines.size(); ++i) {
      text_ += lines[i] + "\n";
      std::istringstream words(lines[i]);
      std::string word;
      if (!(words >> word) || word[0] == '#') continue;
      std::string block;
      if (word == "sql" || word == "run") {
        while (++i < lines.size() && lines[i] != "end") block += lines[i] + "\n";
        ASSERT_LT(i, lines.size()) << "`end` is missing";
      }
      if (word == "sql") {
        execute(block);
        text_ += block + "end\n";
      } else if (word == "run") {
        text_ += answer(words) + "end\n";
        ++runs_;
      } else if (word == "fixture") {
        words >> word;
        execute(text_of(kRoot / "tests/data" / (word + ".sql")));
      } else if (word == "fresh") {
        start();
      } else if (word == "csv") {
        std::string table;
        words >> word >> table;
        load_csv(kRoot / word, table);
      } else {
        FAIL() << "unknown word: " << lines[i];
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  const std::string& text() const { return text_; }
  int runs() const { return runs_; }

 private:
  void start() {
    Result<store::Database> database = store::Database::in_memory();
    ASSERT_TRUE(database.ok()) << database.error().text;
    database_.emplace(std::move(database).value());
  }

  void execute(const std::string& sql) {
    const Status status = database_->execute(sql);
    ASSERT_TRUE(status.ok()) << status.error().text;
  }

  std::string answer(std::istringstream& words) {
    Parameters parameters = parameters_;
    for (std::string word; words >> word;) {
      const size_t equal = word.find('=');
      parameters[word.substr(0, equal)] = word.substr(std::min(word.size(), equal + 1));
    }
    const Result<store::Table> result = run(*database_, analysis_, parameters);
    if (!result.ok()) return "error " + result.error().text + "\n";
    check_columns(result.value());
    return table_text(result.value());
  }

  // The header must describe the query's columns, in their order.
  void check_columns(const store::Table& table) {
    std::vector<std::string> described, given;
    for (const Column& column : analysis_.columns) described.push_back(column.name);
    for (const store::Column& column : table.columns) given.push_back(column.name);
    EXPECT_EQ(described, given);
  }

  void load_csv(const fs::path& path, const std::string& table) {
    const std::vector<std::string> lines = lines_of(text_of(path));
    ASSERT_GT(lines.size(), 1u);
    std::string columns = lines[0], sql;
    for (size_t at = 0; (at = columns.find(',', at)) != std::string::npos; at += 9) {
      columns.replace(at, 1, " DOUBLE, ");
    }
    sql = "CREATE TEMP TABLE " + table + "(" + columns + " DOUBLE);";
    for (size_t i = 1; i < lines.size(); ++i) {
      sql += "INSERT INTO " + table + " VALUES (" + lines[i] + ");";
    }
    execute(sql);
  }

  const Analysis& analysis_;
  const Parameters parameters_;
  std::optional<store::Database> database_;
  std::string text_;
  int runs_ = 0;
};

// Returns the analyses and their rules: paths below analyses/, without their endings.
std::vector<std::string> sql_files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "analyses")) {
    fs::path path = entry.path().lexically_relative(kRoot / "analyses");
    if (path.extension() != ".sql" || is_prelude(path.string())) continue;
    names.push_back(path.replace_extension().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, GivesTheExpectedRows) {
  const fs::path name = GetParam();
  std::string analysis_name = name.parent_path();
  Parameters parameters;
  if (analysis_name.empty()) {
    const std::string sql = text_of(kRoot / "analyses" / (GetParam() + ".sql"));
    const Result<Analysis> header = parse_analysis(GetParam(), sql);
    ASSERT_TRUE(header.ok()) << header.error().text;
    analysis_name = header->name;
  } else {
    parameters["rule"] = name.filename();
  }
  const Result<const Analysis*> analysis = find(analysis_name);
  ASSERT_TRUE(analysis.ok()) << analysis.error().text;
  const fs::path path = kRoot / "analyses" / (GetParam() + ".test");
  ASSERT_TRUE(fs::exists(path)) << "every analysis has a test beside it";
  const std::string expected = text_of(path);
  Script script(**analysis, parameters);
  script.play(lines_of(expected));
  if (HasFatalFailure()) return;
  EXPECT_GT(script.runs(), 0) << "the test asks nothing";
  if (std::getenv("XSP_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << script.text();
  } else {
    EXPECT_EQ(expected, script.text()) << "XSP_UPDATE_GOLDEN=1 rewrites the file";
  }
}

INSTANTIATE_TEST_SUITE_P(Analyses, Golden, ::testing::ValuesIn(sql_files()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

}  // namespace
}  // namespace xsp::analyze

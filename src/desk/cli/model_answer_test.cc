#include "desk/cli/model_answer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "desk/analyze/catalogue.h"
#include "desk/analyze/run.h"
#include "desk/cli/sentences.h"
#include "tests/places.h"

namespace xsp::cli {
namespace {

Terminal wide(size_t width) {
  Terminal terminal;
  terminal.width = width;
  terminal.utf8 = true;
  return terminal;
}

Result<store::Database> made() {
  XSP_TRY(store::Database database, store::Database::in_memory());
  std::ifstream fixture(places::source("tests/data/small.sql"));
  std::ostringstream sql;
  sql << fixture.rdbuf();
  XSP_CHECK_OK(database.execute(sql.str()));
  return database;
}

Result<store::Database> on_gpu() {
  return store::Database::open(places::build("tests/data/h200_resnet50.xsp"));
}

// Returns the words of a text, with one space between them.
std::string words_of(const std::string& text) {
  std::istringstream words(text);
  std::string word, joined;
  while (words >> word) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

class ModelAnswerTest : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Columns, ModelAnswerTest, testing::Values(60, 100),
                         [](const auto& one) { return std::to_string(one.param); });

TEST_P(ModelAnswerTest, FitsAndCutsNoSentence) {
  for (const auto open : {made, on_gpu}) {
    auto database = open();
    ASSERT_TRUE(database.ok()) << database.error().text;
    const std::string text = model_answer(*database, wide(GetParam()));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      // A name is one word, which is never cut.
      const bool is_one_word = words_of(line).find(' ') == std::string::npos;
      EXPECT_TRUE(width_of(line) <= GetParam() || is_one_word) << line;
    }
    // The best findings are there as `xsp findings` has them.
    const auto analysis = analyze::find("findings");
    ASSERT_TRUE(analysis.ok());
    const auto findings = analyze::run(*database, **analysis, {});
    ASSERT_TRUE(findings.ok()) << findings.error().text;
    size_t seen = 0;
    for (size_t i = 0; i < findings->rows.size() && seen < 3; ++i) {
      const Row row(*findings, i);
      if (!is_finding(row)) continue;
      ++seen;
      EXPECT_NE(words_of(text).find(words_of(row.text("advice"))), std::string::npos) << text;
    }
    EXPECT_GT(seen, 0u);
  }
}

TEST(ModelAnswer, SaysTheLatencyOfEachBatchAndTheParts) {
  auto database = on_gpu();
  ASSERT_TRUE(database.ok()) << database.error().text;
  const std::string text = model_answer(*database, wide(100));
  EXPECT_EQ(text.rfind("Batch 1: an inference takes 3.96 ms (", 0), 0u) << text;
  EXPECT_NE(text.find("\nBatch 4: an inference takes 2.99 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("  no kernel runs     80 %  "), std::string::npos) << text;
  // The parts add up to the whole.
  double sum = 0;
  std::istringstream lines(text.substr(text.find("is made of")));
  std::string line;
  std::getline(lines, line);  // the rest of that line
  while (std::getline(lines, line) && line.rfind("  ", 0) == 0) {
    const size_t percent = line.find(" %  ");
    if (percent != std::string::npos && percent < 30) sum += std::stod(line.substr(percent - 3, 3));
  }
  EXPECT_EQ(sum, 100) << text;
}

}  // namespace
}  // namespace xsp::cli

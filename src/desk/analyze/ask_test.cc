#include "desk/analyze/ask.h"

#include <gtest/gtest.h>

namespace xsp::analyze {
namespace {

class AskTest : public testing::Test {
 protected:
  void SetUp() override {
    auto database = store::Database::in_memory();
    ASSERT_TRUE(database.ok());
    database_ = std::make_unique<store::Database>(std::move(database).value());
  }
  Asked asked(std::string_view sql, size_t rows = 100, size_t bytes = 1 << 20) {
    auto answer = ask(*database_, sql, rows, bytes);
    EXPECT_TRUE(answer.ok()) << answer.error().text;
    return answer.ok() ? std::move(answer).value() : Asked{};
  }
  std::unique_ptr<store::Database> database_;
};

TEST_F(AskTest, ColumnsHaveTheUnitsOfTheirNames) {
  const Asked answer =
      asked("SELECT 5 AS latency_ns, 'x' AS name, true AS is_x, 2.5 AS share, NULL AS gone_ns");
  ASSERT_EQ(answer.columns.size(), 5U);
  const char* wanted[] = {"ns", "text", "bool", "number", "text"};
  for (size_t i = 0; i < answer.columns.size(); ++i) EXPECT_EQ(answer.columns[i].unit, wanted[i]);
  EXPECT_FALSE(answer.is_cut);
}

TEST_F(AskTest, TheFirstRowsAreKeptAndTheColumnsAreKnown) {
  const Asked many = asked("FROM range(1000000)", 10);
  EXPECT_TRUE(many.is_cut);
  EXPECT_EQ(many.table.rows.size(), 10U);
  EXPECT_EQ(many.columns.size(), 1U);
  EXPECT_FALSE(asked("FROM range(10)", 10).is_cut);
  const Asked large = asked("SELECT repeat('x', 1000) FROM range(1000)", 1000, 20'000);
  EXPECT_TRUE(large.is_cut);
  EXPECT_LT(large.table.rows.size(), 21U);
  EXPECT_GT(large.table.rows.size(), 15U);
  EXPECT_EQ(asked("SELECT 1 AS x WHERE false").columns.size(), 1U);
}

TEST_F(AskTest, ThePreludeIsThere) {
  EXPECT_EQ(asked("SELECT count(*) FROM layer").table.rows.size(), 1U);
}

TEST_F(AskTest, AMistakeIsAnError) {
  const auto wrong = ask(*database_, "SELECT nonsense FROM run", 10, 1000);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().text.find("nonsense"), std::string::npos);
}

}  // namespace
}  // namespace xsp::analyze

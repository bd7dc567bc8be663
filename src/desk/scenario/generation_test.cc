#include "desk/scenario/generation.h"

#include <gtest/gtest.h>

#include <map>

namespace xsp::scenario {
namespace {

TEST(Generation, LengthsAreReadOrRefusedWithTheirLine) {
  const auto counts = parse_token_counts("prompt output\n# a trace\n12 3\n40,5\r\n", "l.csv");
  ASSERT_TRUE(counts.ok()) << counts.error().text;
  ASSERT_EQ(counts->size(), 2u);
  EXPECT_EQ((*counts)[1].prompt, 40);
  EXPECT_EQ((*counts)[1].output, 5);
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"1 2\n3\n", "l.csv:2: '3' is not two numbers"},
           {"1 0\n", "l.csv:1: '1 0'"},
           {"1 2 3\n", "l.csv:1: '1 2 3'"},
           {"# none\n", "l.csv: no lengths"}}) {
    const auto bad = parse_token_counts(text, "l.csv");
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.error().text.find(why), 0u) << bad.error().text;
    EXPECT_EQ(bad.error().code, Code::kUsage);
  }
}

TEST(Generation, LengthsAreDrawnFromTheirRange) {
  const auto drawn = draw_token_counts("64..66", "9", 3000, 5);
  ASSERT_TRUE(drawn.ok());
  std::map<int64_t, int> times;
  for (const TokenCounts& one : *drawn) {
    ++times[one.prompt];
    EXPECT_EQ(one.output, 9);
  }
  ASSERT_EQ(times.size(), 3u);
  for (const auto& [length, count] : times) EXPECT_NEAR(count, 1000, 130) << length;  // 5 sd
  for (const char* text : {"", "0", "9..3", "3..", "x", "1..2000000"}) {
    EXPECT_FALSE(draw_token_counts(text, "1", 1, 1).ok()) << text;
  }
}

// Two requests in one batch: 10 and 20 tokens of prompt, 3 and 2 tokens, each run takes 100 ns.
TEST(Generation, FiguresAreThoseOfTheTokens) {
  const std::vector<Generated> requests = {{0, {10, 3}, 800, 1000, {1100, 1200, 1300}},
                                           {1, {20, 2}, 400, 1000, {1100, 1200}}};
  std::map<std::string, double> value;
  for (const auto& row : rows_of_tokens(requests, {900, 950}, 400e-9)) {
    value[row.metric] = *row.value;
  }
  EXPECT_EQ(value["first_token.mean"], 175);  // from the arrivals: 200 and 150
  EXPECT_EQ(value["between_tokens.mean"], 100);
  EXPECT_NEAR(value["tokens_per_s"], 5 / 400e-9, 1);
  EXPECT_NEAR(value["prefill.tokens_per_s"], 30 / 100e-9, 1);
  EXPECT_NEAR(value["decode.tokens_per_s"], 3 / 200e-9, 1);
  EXPECT_EQ(value["cache.mean"], 600);
  EXPECT_EQ(value["cache.max"], 800);
}

}  // namespace
}  // namespace xsp::scenario

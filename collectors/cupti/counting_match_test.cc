#include "collectors/cupti/counting_match.h"

#include <gtest/gtest.h>

namespace xsp::cupti {
namespace {

TEST(Match, EveryRangeHasItsLaunch) {
  const Matched matched = match({{1, 2, 1}, {1, 2, 1}}, 3, 8);
  EXPECT_EQ(matched.usable, 3u);
  EXPECT_EQ(matched.problem, "");
}

TEST(Match, NothingLaunchedIsNoProblem) {
  EXPECT_EQ(match({{}}, 0, 8).problem, "");
  EXPECT_EQ(match({}, 0, 8).problem, "");
}

TEST(Match, APassThatDiffersEndsWhatCanBeUsed) {
  const Matched matched = match({{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 9, 4}}, 4, 8);
  EXPECT_EQ(matched.usable, 2u);
  EXPECT_NE(matched.problem.find("inference 3"), std::string::npos) << matched.problem;
  EXPECT_NE(matched.problem.find("launch 3 of 4"), std::string::npos) << matched.problem;
  EXPECT_STREQ(matched.cause, "inferences differ in their kernels");
}

TEST(Match, APassThatIsLongerOrShorterDiffersToo) {
  const Matched longer = match({{1, 2}, {1, 2, 3}}, 2, 8);
  EXPECT_EQ(longer.usable, 2u);
  EXPECT_NE(longer.problem, "");
  const Matched shorter = match({{1, 2, 3}, {1, 2}, {1, 2, 3}}, 3, 8);
  EXPECT_EQ(shorter.usable, 2u);
  EXPECT_NE(shorter.problem.find("inference 2"), std::string::npos) << shorter.problem;
}

TEST(Match, WithoutRoomTheFirstHaveTheirCounters) {
  const Matched matched = match({{1, 2, 3, 4, 5}}, 3, 3);
  EXPECT_EQ(matched.usable, 3u);
  EXPECT_STREQ(matched.cause, "no room for counters");
}

TEST(Match, TheLengthOfAnInferenceIsFoundInWhatWasRunBefore) {
  EXPECT_EQ(repeated_length({}), 0u);
  EXPECT_EQ(repeated_length({1}), 0u);
  EXPECT_EQ(repeated_length({1, 2, 3}), 0u);
  EXPECT_EQ(repeated_length({7, 8, 1, 2, 3, 1, 2, 3}), 3u);
  // Inferences of equal blocks, with a kernel that occurs once per inference: the blocks are not
  // mistaken for inferences.
  EXPECT_EQ(repeated_length({5, 1, 2, 1, 2, 9, 5, 1, 2, 1, 2, 9, 5, 1, 2, 1, 2, 9}), 6u);
  EXPECT_EQ(repeated_length({1, 2, 3, 1, 2, 3, 4}), 0u);
  EXPECT_EQ(repeated_length({4, 4, 4}), 1u);
  // Inferences that end in two equal kernels, or in equal layers.
  EXPECT_EQ(repeated_length({8, 1, 2, 9, 9, 1, 2, 9, 9}), 4u);
  EXPECT_EQ(repeated_length({5, 1, 2, 1, 2, 5, 1, 2, 1, 2, 5, 1, 2, 1, 2}), 5u);
}

TEST(Match, UnexplainedNumbersMatchNothing) {
  EXPECT_EQ(match({{1, 2, 3}}, 2, 8).usable, 0u);
  EXPECT_NE(match({{1, 2, 3}}, 2, 8).problem, "");
  EXPECT_EQ(match({{1, 2, 3}}, 4, 8).usable, 0u);
}

}  // namespace
}  // namespace xsp::cupti

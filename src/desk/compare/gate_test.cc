// Tests the gate with comparisons whose cells are made up.
#include "desk/compare/gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace xsp::compare {
namespace {

using State = Gate::State;

struct Row {
  int64_t batch = 1;
  std::string state_a = "measured";
  std::string state_b = "measured";
  std::optional<double> ratio;
  std::optional<double> low;
  std::string verdict;
  bool is_doubtful = false;
};

store::Value cell_of(std::optional<double> number) {
  return number ? store::Value(*number) : store::Value(std::monostate{});
}

Comparison comparison_of(const std::vector<Row>& rows) {
  Comparison comparison;
  for (const char* name :
       {"batch", "state_a", "state_b", "ratio_b", "ratio_low_b", "significant_b", "verdict_b"}) {
    comparison.columns.push_back({name, "text", ""});
  }
  for (const Row& row : rows) {
    comparison.table.rows.push_back(
        {row.batch, row.state_a, row.state_b, cell_of(row.ratio), cell_of(row.low),
         row.is_doubtful ? store::Value(std::monostate{}) : store::Value(true), row.verdict});
  }
  return comparison;
}

Gate judged(const std::vector<Row>& rows) { return judge(comparison_of(rows), 5); }

const Row kFine = {1, "measured", "measured", 1.04, 1.03, "slower"};
const Row kSlow = {2, "measured", "measured", 1.0501, 1.01, "slower"};
const Row kFailing = {4, "measured", "failed", {}, {}, "failed: out of memory"};
const Row kFew = {8,  "measured", "measured",
                  {}, {},         "too few blocks: B has 9 inferences in 3 blocks"};
const Row kUntried = {16, "measured", "not tried", {}, {}, "not measured: not tried"};
const Row kNew = {32, "not tried", "measured", {}, {}, "no reference: A: not measured: not tried"};

TEST(Gate, OtherInputsCannotBeJudged) {
  Comparison comparison = comparison_of({kSlow});
  comparison.other_inputs = "A has int64[1,128], B int64[1,256]";
  const Gate gate = judge(comparison, 5);
  EXPECT_EQ(gate.state, State::kUnjudged);
  EXPECT_EQ(gate.text,
            "the inputs differ: A has int64[1,128], B int64[1,256]: profile both with the same");
}

TEST(Gate, BatchesOfUnknownSizeCannotBeJudgedUnlessBFailed) {
  Comparison comparison = comparison_of({kFine});
  comparison.unknown_batches = "B: the batches that were formed have from 1 to 4 inputs";
  const Gate gate = judge(comparison, 5);
  EXPECT_EQ(gate.state, State::kUnjudged);
  EXPECT_EQ(gate.text,
            "the inputs are not of one size: B: the batches that were formed have from 1 to 4 "
            "inputs: measure both with batches of one size");
  comparison.table = comparison_of({kFailing}).table;
  EXPECT_EQ(judge(comparison, 5).state, State::kTripped);
}

TEST(Gate, TheRatioIsBeyondTheLimitAndItsIntervalAboveOne) {
  EXPECT_EQ(judged({kFine}).state, State::kPassed);
  EXPECT_EQ(judged({kFine}).text, "no certain regression by more than 5 %");
  const Gate slow = judged({kFine, kSlow});
  EXPECT_EQ(slow.state, State::kTripped);
  EXPECT_EQ(slow.text,
            "regression by more than 5 %: batch 2: B takes 5.01 % longer than A, certainly 1.00 %");
  EXPECT_EQ(judge(comparison_of({kSlow}), 5.02).state, State::kPassed);
  // The interval contains 1, so the ratio may be due to chance, however large it is.
  EXPECT_EQ(judged({{1, "measured", "measured", 1.5, 1.0, ""}}).state, State::kPassed);
  EXPECT_EQ(judge(comparison_of({{1, "measured", "measured", 1.0, 0.9, ""}}), 0).state,
            State::kPassed);
}

// Expects a doubtful row to leave the gate unjudged, with these words last.
void expect_unjudged(std::optional<double> low, const std::string& doubt,
                     const std::string& remedy) {
  Row doubtful = kSlow;
  doubtful.low = low;
  doubtful.verdict = "slower, but " + doubt;
  doubtful.is_doubtful = true;
  const Gate gate = judged({kFine, doubtful});
  EXPECT_EQ(gate.state, State::kUnjudged);
  EXPECT_EQ(gate.text,
            "a regression by more than 5 % cannot be ruled out: batch 2: B seems 5.01 % longer, "
            "but " +
                doubt + ": " + remedy);
  // It is no matter where the ratio is within the limit.
  EXPECT_EQ(judge(comparison_of({doubtful}), 6).state, State::kPassed);
}

TEST(Gate, WhatWasDisturbedIsNotJudged) {
  expect_unjudged(kSlow.low, "B was disturbed", "measure again on an idle machine, or with --run");
}

TEST(Gate, WhatOneProcessEachCannotShowIsNotJudged) {
  expect_unjudged(0.8, "one process each cannot show it: the GPU waits for the host",
                  "measure with --run, which opens several processes of each");
}

TEST(Gate, OfWhatWasDisturbedAndWhatWasNotTriedTheRemedyIsThatOfTheDisturbed) {
  Row doubtful = kSlow;
  doubtful.verdict = "slower, but A and B were disturbed";
  doubtful.is_doubtful = true;
  EXPECT_EQ(judged({kUntried, doubtful}).text,
            "a regression by more than 5 % cannot be ruled out: batch 2: B seems 5.01 % longer, "
            "but A and B were disturbed; batch 16: not measured: not tried: measure again on an "
            "idle machine, or with --run");
}

TEST(Gate, WhatFailedInBIsARegression) {
  const Gate gate = judged({kFine, kFailing});
  EXPECT_EQ(gate.state, State::kTripped);
  EXPECT_EQ(gate.text, "regression by more than 5 %: batch 4: B failed: out of memory");
  // If A failed as well, B is no worse.
  Row both = kFailing;
  both.state_a = "failed";
  EXPECT_EQ(judged({kFine, both}).state, State::kPassed);
}

TEST(Gate, ItDoesNotPassForWantOfEvidence) {
  const Gate few = judged({kFine, kFew});
  EXPECT_EQ(few.state, State::kUnjudged);
  EXPECT_NE(few.text.find("batch 8: too few blocks"), std::string::npos) << few.text;
  EXPECT_EQ(judged({kFine, kUntried}).state, State::kUnjudged);
  Row interrupted = kUntried;
  interrupted.state_b = "interrupted";
  EXPECT_EQ(judged({kFine, interrupted}).state, State::kUnjudged);
  EXPECT_EQ(judged({}).state, State::kUnjudged);
  EXPECT_EQ(judged({kNew}).state, State::kUnjudged);
}

TEST(Gate, WhatOnlyBHasIsNotJudged) { EXPECT_EQ(judged({kFine, kNew}).state, State::kPassed); }

TEST(Gate, ACertainRegressionCountsWhateverElseIsUnknown) {
  const Gate gate = judged({kFew, kSlow, kUntried, kFailing});
  EXPECT_EQ(gate.state, State::kTripped);
  EXPECT_EQ(gate.text,
            "regression by more than 5 %: batch 2: B takes 5.01 % longer than A, certainly 1.00 "
            "%; batch 4: B failed: out of memory");
}

}  // namespace
}  // namespace xsp::compare

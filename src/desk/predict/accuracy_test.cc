#include "desk/predict/accuracy.h"

#include <gtest/gtest.h>

namespace xsp::predict {
namespace {

const std::vector<Item> kItems = {{"a", "cat", ""}, {"b", "dog", ""}, {"c", "cat", ""}};
const Labels kLabels = {{"cat", "dog"}};

process::OutputAnswer ranking(int64_t item, std::vector<pipelines::Ranked> classes) {
  process::OutputAnswer answer;
  answer.item = item;
  answer.kind = pipelines::Kind::kRanking;
  answer.ranking = std::move(classes);
  return answer;
}

manifest::Manifest manifest_of(const std::string& task) {
  manifest::Manifest manifest;
  manifest.file = "m.yaml";
  manifest.task = task;
  return manifest;
}

Scored scored(const manifest::Manifest& manifest) {
  const auto metrics = metrics_of(manifest);
  EXPECT_TRUE(metrics.ok());
  // The second item has no answer.
  return score(manifest, *metrics, kItems,
               {ranking(0, {{0, 0.9}, {1, 0.1}}), ranking(2, {{1, 0.6}, {0, 0.4}})}, kLabels);
}

const experiment::ResultRow* find(const Scored& scored, const std::string& metric) {
  for (const auto& row : scored.rows) {
    if (row.metric == metric) return &row;
  }
  return nullptr;
}

TEST(Score, AnItemWithoutAnAnswerIsWrongAndOthersKeepTheirPlace) {
  const Scored result = scored(manifest_of("classification"));
  ASSERT_NE(find(result, "top1"), nullptr);
  EXPECT_DOUBLE_EQ(*find(result, "top1")->value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*find(result, "top5")->value, 2.0 / 3);
  EXPECT_LT(*find(result, "top1")->low, 1.0 / 3);
  EXPECT_GT(*find(result, "top1")->high, 1.0 / 3);
  EXPECT_TRUE(result.is_met);
}

TEST(Score, AnExpectationIsMissedInBothDirections) {
  manifest::Manifest manifest = manifest_of("classification");
  manifest.tolerance = 0.01;
  for (const auto& [expected, is_met] :
       std::vector<std::pair<double, bool>>{{0.33, true}, {0.3, false}, {0.36, false}}) {
    manifest.expect = {{"top1", expected}};
    EXPECT_EQ(scored(manifest).is_met, is_met) << expected;
  }
}

TEST(Score, AnExpectedMetricThatCannotBeMeasuredIsMissed) {
  manifest::Manifest manifest = manifest_of("nothing");
  manifest.expect = {{"psnr", 30}};
  const Scored result = scored(manifest);
  EXPECT_FALSE(result.is_met);
  ASSERT_NE(find(result, "psnr"), nullptr);
  EXPECT_FALSE(find(result, "psnr")->value);
  EXPECT_EQ(result.verdict.find("missed: psnr, of which 30 is expected, is not measured: "), 0u)
      << result.verdict;
}

TEST(Score, WithoutAMetricItSaysWhatToDo) {
  EXPECT_EQ(metrics_of(manifest_of("juggling")).error().text,
            "m.yaml:1: task: no metric is for 'juggling': expect one by its name, such as expect: "
            "{top1: 0.9}");
}

TEST(Labels, AClassWithoutALabelIsItsNumber) {
  EXPECT_EQ(label_of(kLabels, 0, 1), "dog");
  EXPECT_EQ(label_of(kLabels, 0, 2), "2");
  EXPECT_EQ(label_of(kLabels, 1, 0), "0");
}

}  // namespace
}  // namespace xsp::predict

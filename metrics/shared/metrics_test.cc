// Compares the metrics with their reference implementations, whose values tests/data/metrics/
// cases.py has written.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "metrics/shared/metric.h"
#include "tests/places.h"

namespace xsp::metrics {
namespace {

struct Case {
  std::string name;
  std::vector<Pair> pairs;
  std::map<std::string, double> wanted;
  std::map<std::string, statistics::Interval> intervals;
};

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  Words words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, '\t');) words.push_back(word);
  return words;
}

void set_part(Answer& answer, const std::string& part, const Words& words) {
  const Words rest(words.begin() + 1, words.end());
  if (part == "labels") answer.labels = rest;
  if (part == "text") answer.text = rest.empty() ? "" : rest[0];
  if (part == "boxes") {
    for (size_t i = 0; i + 5 < rest.size(); i += 6) {
      answer.boxes.push_back({rest[i], std::stod(rest[i + 1]), std::stod(rest[i + 2]),
                              std::stod(rest[i + 3]), std::stod(rest[i + 4]),
                              std::stod(rest[i + 5])});
    }
  }
  if (part != "values" && part != "scores") return;
  for (const std::string& word : rest) {
    (part == "values" ? answer.values : answer.scores).push_back(std::stod(word));
  }
}

std::vector<Case> read_cases() {
  std::ifstream file(places::source("tests/data/metrics/cases.tsv"));
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    const Words words = words_of(line);
    const std::string& word = words[0];
    if (word == "case") {
      cases.push_back({words[1], {}, {}, {}});
    } else if (word == "item") {
      cases.back().pairs.emplace_back();
    } else if (word == "want") {
      cases.back().wanted[words[1]] = std::stod(words[2]);
    } else if (word == "interval") {
      cases.back().intervals[words[1]] = {std::stod(words[2]), std::stod(words[3])};
    } else {
      Pair& pair = cases.back().pairs.back();
      const bool is_named = word.starts_with("named.");
      set_part(is_named ? pair.predicted : pair.right, word.substr(6), words);
    }
  }
  return cases;
}

TEST(Metrics, EqualTheirReferences) {
  const std::vector<Case> cases = read_cases();
  std::set<std::string> compared;
  for (const Case& one : cases) {
    for (const auto& [name, value] : one.wanted) {
      const auto metric = find_metric(name);
      ASSERT_TRUE(metric) << name;
      const Result<Score> score = metric->measure(one.pairs, kSeed);
      ASSERT_TRUE(score.ok()) << one.name << ": " << name << ": " << score.error().text;
      EXPECT_NEAR(score->value, value, 1e-9 * std::max(1.0, value)) << one.name << ": " << name;
      compared.insert(name);
    }
  }
  for (const Metric& metric : all_metrics()) EXPECT_TRUE(compared.contains(metric.name));
}

TEST(Metrics, ProportionsHaveWilsonsInterval) {
  size_t compared = 0;
  for (const Case& one : read_cases()) {
    for (const auto& [name, wanted] : one.intervals) {
      const Result<Score> score = find_metric(name)->measure(one.pairs, kSeed);
      ASSERT_TRUE(score.ok() && score->interval);
      EXPECT_NEAR(score->interval->low, wanted.low, 1e-9);
      EXPECT_NEAR(score->interval->high, wanted.high, 1e-9);
      ++compared;
    }
  }
  EXPECT_GE(compared, 8u);
}

TEST(Metrics, IntervalsHoldTheValueAndDependOnTheSeedAlone) {
  for (const Case& one : read_cases()) {
    for (const auto& [name, value] : one.wanted) {
      const auto metric = find_metric(name);
      const Result<Score> a = metric->measure(one.pairs, kSeed);
      const Result<Score> b = metric->measure(one.pairs, kSeed);
      ASSERT_TRUE(a->interval) << one.name << ": " << name;
      EXPECT_LE(a->interval->low, value) << one.name << ": " << name;
      EXPECT_GE(a->interval->high, value) << one.name << ": " << name;
      EXPECT_EQ(a->interval->low, b->interval->low);
      EXPECT_EQ(a->interval->high, b->interval->high);
    }
  }
}

Pair answered(const std::string& named, const std::string& right) {
  Pair pair;
  if (!named.empty()) pair.predicted.labels = {named};
  pair.right.labels = {right};
  return pair;
}

TEST(Metrics, AnItemWithoutAnAnswerIsWrong) {
  const std::vector<Pair> pairs = {answered("a", "a"), answered("", "a")};
  EXPECT_EQ(find_metric("top1")->measure(pairs, kSeed)->value, 0.5);
  EXPECT_EQ(find_metric("recall_micro")->measure(pairs, kSeed)->value, 0.5);
  EXPECT_EQ(find_metric("precision_micro")->measure(pairs, kSeed)->value, 1);
  Pair text;
  text.right.text = "abc";
  EXPECT_EQ(find_metric("cer")->measure(std::vector{text, text}, kSeed)->value, 1);
}

TEST(Metrics, NoItemsGiveOneLine) {
  for (const Metric& metric : all_metrics()) {
    const Result<Score> score = metric.measure({}, kSeed);
    ASSERT_FALSE(score.ok()) << metric.name;
    EXPECT_EQ(score.error().text.find('\n'), std::string::npos);
  }
}

TEST(Metrics, WhatAnItemLacksIsNamed) {
  const auto error_of = [](const char* name, const std::vector<Pair>& pairs) {
    const Result<Score> score = find_metric(name)->measure(pairs, kSeed);
    return score.ok() ? "" : score.error().text;
  };
  EXPECT_EQ(error_of("top1", {answered("a", "a"), Pair{}}), "item 2: has no right label");
  EXPECT_EQ(error_of("roc_auc", {answered("a", "a"), answered("a", "b")}),
            "item 1: has no score for 'a': the area under the curve needs the scores of all "
            "classes");
  Pair pair;
  pair.predicted.labels = {"a", "b"};
  pair.predicted.scores = {0.4, std::nan("")};
  pair.right.labels = {"a"};
  Pair other = pair;
  other.predicted.scores = {0.4, 0.6};
  other.right.labels = {"b"};
  EXPECT_EQ(error_of("roc_auc", {other, pair}), "item 2: has a score for 'b' that is not a number");
  pair = {};
  pair.predicted.values = {1, 2};
  pair.right.values = {1};
  EXPECT_EQ(error_of("frame_f1", {pair}), "item 1: has 2 cells of frames, but 1 right ones");
  EXPECT_EQ(error_of("miou", {pair}), "item 1: has 2 pixels, but 1 right ones");
  EXPECT_EQ(error_of("psnr", {pair}), "item 1: has 2 samples, but 1 right ones");
}

TEST(Metrics, EqualItemsTellNoInterval) {
  Pair pair;
  pair.predicted.text = pair.right.text = "read without a fault";
  const Result<Score> score = find_metric("cer")->measure(std::vector{pair, pair, pair}, kSeed);
  EXPECT_EQ(score->value, 0);
  EXPECT_FALSE(score->interval);
}

}  // namespace
}  // namespace xsp::metrics

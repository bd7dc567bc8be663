// Precision, recall and F1 of classes, as scikit-learn's precision_recall_fscore_support with
// zero_division=0. `macro` is the mean over the classes that the items have or the model named;
// `micro` adds the counts up first. An item without an answer is missed, and names no class.
#include <map>

#include "desk/statistics/intervals.h"
#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

struct Counts {
  double hits = 0;
  double named = 0;
  double right = 0;
};

// Each returns a class's figure; 0 if it has none.
double precision(const Counts& c) { return c.named > 0 ? c.hits / c.named : 0; }
double recall(const Counts& c) { return c.right > 0 ? c.hits / c.right : 0; }
double f1(const Counts& c) { return c.named + c.right > 0 ? 2 * c.hits / (c.named + c.right) : 0; }
using Figure = double (*)(const Counts&);

constexpr int kNone = -1;
struct Classes {
  std::vector<int> predicted;
  std::vector<int> right;
  size_t count = 0;
};

Result<Classes> numbered(std::span<const Pair> pairs) {
  std::map<std::string, int> numbers;
  const auto number = [&numbers](const std::string& label) {
    return numbers.emplace(label, static_cast<int>(numbers.size())).first->second;
  };
  Classes classes;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& [predicted, right] = pairs[i];
    if (right.labels.empty()) return failed(item_text(i) + "has no right label");
    classes.right.push_back(number(right.labels[0]));
    classes.predicted.push_back(predicted.labels.empty() ? kNone : number(predicted.labels[0]));
  }
  classes.count = numbers.size();
  return classes;
}

std::vector<Counts> counted(const Classes& classes, std::span<const uint32_t> weights) {
  std::vector<Counts> counts(classes.count);
  for (size_t i = 0; i < classes.right.size(); ++i) {
    const int predicted = classes.predicted[i];
    const int right = classes.right[i];
    counts[static_cast<size_t>(right)].right += weights[i];
    if (predicted == kNone) continue;
    counts[static_cast<size_t>(predicted)].named += weights[i];
    if (predicted == right) counts[static_cast<size_t>(right)].hits += weights[i];
  }
  return counts;
}

std::optional<double> macro(const std::vector<Counts>& counts, Figure figure) {
  double sum = 0;
  double seen = 0;
  for (const Counts& c : counts) {
    if (c.named + c.right == 0) continue;
    sum += figure(c);
    ++seen;
  }
  if (seen == 0) return std::nullopt;
  return sum / seen;
}

std::optional<double> micro(const std::vector<Counts>& counts, Figure figure) {
  Counts all;
  for (const Counts& c : counts) {
    all.hits += c.hits;
    all.named += c.named;
    all.right += c.right;
  }
  return figure(all);
}

using Mean = std::optional<double> (*)(const std::vector<Counts>&, Figure);

template <Mean mean, Figure figure>
Result<Score> measure(std::span<const Pair> pairs, uint64_t seed) {
  XSP_TRY(const Classes classes, numbered(pairs));
  const auto statistic = [&classes](std::span<const uint32_t> weights) {
    return mean(counted(classes, weights), figure);
  };
  const std::optional<double> value = statistic(std::vector<uint32_t>(pairs.size(), 1));
  if (!value || pairs.empty()) return failed("there are no items");
  return Score{*value, statistics::bootstrap(pairs.size(), seed, statistic)};
}

}  // namespace

std::vector<Metric> precision_recall_metrics() {
  const std::vector<std::string> tasks = {"classification", "voice activity detection"};
  const std::string macro_text = ", the mean over the classes.";
  const std::string micro_text = ", over the items of all classes.";
  const std::string precision_text = "The share of items named as a class that belong to it";
  const std::string recall_text = "The share of a class's items that are named as it";
  const std::string f1_text = "The harmonic mean of precision and recall";
  return {
      {"precision_macro", "precision, macro", precision_text + macro_text, kBootstrap, "", tasks,
       measure<macro, precision>},
      {"recall_macro", "recall, macro", recall_text + macro_text, kBootstrap, "", tasks,
       measure<macro, recall>},
      {"f1_macro", "F1, macro", f1_text + macro_text, kBootstrap, "", tasks, measure<macro, f1>},
      {"precision_micro", "precision, micro", precision_text + micro_text, kBootstrap, "", tasks,
       measure<micro, precision>},
      {"recall_micro", "recall, micro", recall_text + micro_text, kBootstrap, "", tasks,
       measure<micro, recall>},
      {"f1_micro", "F1, micro", f1_text + micro_text, kBootstrap, "", tasks, measure<micro, f1>}};
}

}  // namespace xsp::metrics

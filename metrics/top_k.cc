// The share of items whose right label is among the model's k best.
#include <algorithm>

#include "desk/statistics/intervals.h"
#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

Result<Score> top_k(std::span<const Pair> pairs, size_t k) {
  size_t hits = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& [predicted, right] = pairs[i];
    if (right.labels.empty()) return failed(item_text(i) + "has no right label");
    const auto first = predicted.labels.begin();
    const auto last = first + static_cast<ptrdiff_t>(std::min(k, predicted.labels.size()));
    hits += std::find(first, last, right.labels[0]) != last;
  }
  const auto interval = statistics::wilson(hits, pairs.size());
  if (!interval) return failed("there are no items");
  return Score{static_cast<double>(hits) / static_cast<double>(pairs.size()), interval};
}

Result<Score> top1(std::span<const Pair> pairs, uint64_t) { return top_k(pairs, 1); }
Result<Score> top5(std::span<const Pair> pairs, uint64_t) { return top_k(pairs, 5); }

}  // namespace

std::vector<Metric> top_k_metrics() {
  const std::vector<std::string> tasks = {"classification", "voice activity detection"};
  return {{"top1", "top-1 accuracy", "The share of items whose best label is the right one.",
           kWilson, "", tasks, top1},
          {"top5", "top-5 accuracy",
           "The share of items whose right label is among the model's five best.", kWilson, "",
           tasks, top5}};
}

}  // namespace xsp::metrics

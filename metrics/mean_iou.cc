// The mean intersection over union of classes of pixels: for each class, the pixels that the model
// and the reference both give to it, over those that either does; the mean over the classes that
// occur. It is scikit-learn's jaccard_score(average='macro') over all pixels. Pixels whose right
// class is negative are left out.
#include <cmath>
#include <map>

#include "desk/statistics/intervals.h"
#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

struct Overlap {
  double both = 0;
  double either = 0;
};
using Overlaps = std::map<int, Overlap>;  // by class

constexpr int kNone = -1;
// Returns the class of a pixel; every negative one is none.
int class_of(double value) { return value < 0 ? kNone : static_cast<int>(std::lround(value)); }

Result<std::vector<Overlaps>> overlaps_of(std::span<const Pair> pairs) {
  std::vector<Overlaps> items;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& predicted = pairs[i].predicted.values;
    const auto& right = pairs[i].right.values;
    if (!predicted.empty() && predicted.size() != right.size()) {
      return failed(item_text(i) + "has " + std::to_string(predicted.size()) + " pixels, but " +
                    std::to_string(right.size()) + " right ones");
    }
    Overlaps overlaps;
    for (size_t j = 0; j < right.size(); ++j) {
      const int wanted = class_of(right[j]);
      const int named = predicted.empty() ? kNone : class_of(predicted[j]);
      if (wanted == kNone) continue;
      overlaps[wanted].either += 1;
      if (named == wanted) overlaps[wanted].both += 1;
      if (named != wanted && named != kNone) overlaps[named].either += 1;
    }
    items.push_back(std::move(overlaps));
  }
  return items;
}

Result<Score> mean_iou(std::span<const Pair> pairs, uint64_t seed) {
  XSP_TRY(const std::vector<Overlaps> items, overlaps_of(pairs));
  const auto mean = [&items](std::span<const uint32_t> weights) -> std::optional<double> {
    Overlaps all;
    for (size_t i = 0; i < items.size(); ++i) {
      if (weights[i] == 0) continue;
      for (const auto& [number, overlap] : items[i]) {
        all[number].both += weights[i] * overlap.both;
        all[number].either += weights[i] * overlap.either;
      }
    }
    if (all.empty()) return std::nullopt;
    double sum = 0;
    for (const auto& [number, overlap] : all) sum += overlap.both / overlap.either;
    return sum / static_cast<double>(all.size());
  };
  const std::optional<double> value = mean(std::vector<uint32_t>(items.size(), 1));
  if (!value) return failed("no pixel has a right class");
  return Score{*value, statistics::bootstrap(items.size(), seed, mean)};
}

}  // namespace

std::vector<Metric> mean_iou_metrics() {
  return {{"miou",
           "mean IoU",
           "The intersection over union of each class's pixels, the mean over the classes.",
           kBootstrap,
           "",
           {"segmentation"},
           mean_iou}};
}

}  // namespace xsp::metrics

// The mean average precision of boxes by the rules of the COCO detection evaluation (T.-Y. Lin et
// al., "Microsoft COCO: common objects in context", ECCV 2014; its reference is pycocotools): at
// most 100 boxes of a class in an image; each takes the right box that it overlaps best and that is
// still free; precision is read at 101 recalls; the mean over the classes that occur and over the
// limits of the overlap (0.50, 0.55, ... 0.95, or 0.50 alone). Crowds and sizes are not told apart.
#include <algorithm>
#include <array>
#include <map>

#include "desk/statistics/intervals.h"
#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

constexpr size_t kBoxesMax = 100;  // of a class in an image
constexpr int kRecalls = 101;
constexpr size_t kLimits = 10;

double limit_of(size_t index) { return 0.5 + 0.05 * static_cast<double>(index); }

// A box of the model, and whether it is right at each limit of the overlap.
struct Hit {
  size_t item = 0;
  double score = 0;
  std::array<bool, kLimits> is_right{};
};

// Holds the boxes of one class.
struct Class {
  std::vector<Hit> hits;         // the best first
  std::vector<uint32_t> wanted;  // the right boxes of each item
};

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const double both = width * height;
  const auto area = [](const Box& box) { return (box.right - box.left) * (box.bottom - box.top); };
  return both / (area(a) + area(b) - both);
}

std::vector<Box> of_class(const std::vector<Box>& boxes, const std::string& label) {
  std::vector<Box> chosen;
  for (const Box& box : boxes) {
    if (box.label == label) chosen.push_back(box);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const Box& a, const Box& b) { return a.score > b.score; });
  return chosen;
}

// Matches the model's boxes of one class and item with the right ones.
void add_item(size_t item, const Pair& pair, const std::string& label, Class* all) {
  std::vector<Box> named = of_class(pair.predicted.boxes, label);
  const std::vector<Box> right = of_class(pair.right.boxes, label);
  if (named.size() > kBoxesMax) named.resize(kBoxesMax);
  all->wanted[item] = static_cast<uint32_t>(right.size());
  std::vector<Hit> hits;
  for (const Box& box : named) hits.push_back({item, box.score, {}});
  for (size_t limit = 0; limit < kLimits; ++limit) {
    std::vector<bool> is_taken(right.size());
    for (size_t i = 0; i < named.size(); ++i) {
      double best = limit_of(limit);
      std::optional<size_t> match;
      for (size_t j = 0; j < right.size(); ++j) {
        const double here = overlap(named[i], right[j]);
        if (is_taken[j] || here < best) continue;
        best = here;
        match = j;
      }
      if (!match) continue;
      is_taken[*match] = true;
      hits[i].is_right[limit] = true;
    }
  }
  all->hits.insert(all->hits.end(), hits.begin(), hits.end());
}

// Returns the average precision of one class at one limit.
double average_precision(const Class& one, std::span<const uint32_t> weights, size_t limit,
                         double wanted) {
  struct Point {
    double recall;
    double precision;
  };
  std::vector<Point> curve;
  double right = 0;
  double named = 0;
  for (const Hit& hit : one.hits) {
    // An item that was drawn several times brings its box that often, one after another.
    for (uint32_t copy = 0; copy < weights[hit.item]; ++copy) {
      right += hit.is_right[limit] ? 1 : 0;
      named += 1;
      curve.push_back({right / wanted, right / named});
    }
  }
  for (size_t i = curve.size(); i-- > 1;) {
    curve[i - 1].precision = std::max(curve[i - 1].precision, curve[i].precision);
  }
  double sum = 0;
  size_t at = 0;
  for (int i = 0; i < kRecalls; ++i) {
    // The reference multiplies: some of its recalls are a last bit above i / 100.
    const double recall = i * 0.01;
    while (at < curve.size() && curve[at].recall < recall) ++at;
    if (at == curve.size()) break;
    sum += curve[at].precision;
  }
  return sum / kRecalls;
}

std::vector<Class> classes_of(std::span<const Pair> pairs) {
  std::map<std::string, Class> classes;
  for (const Pair& pair : pairs) {
    for (const Box& box : pair.right.boxes) classes[box.label];
  }
  std::vector<Class> all;
  for (auto& [label, one] : classes) {
    one.wanted.resize(pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i) add_item(i, pairs[i], label, &one);
    std::stable_sort(one.hits.begin(), one.hits.end(),
                     [](const Hit& a, const Hit& b) { return a.score > b.score; });
    all.push_back(std::move(one));
  }
  return all;
}

template <size_t limits>
Result<Score> mean_average_precision(std::span<const Pair> pairs, uint64_t seed) {
  const std::vector<Class> classes = classes_of(pairs);
  const auto mean = [&classes](std::span<const uint32_t> weights) -> std::optional<double> {
    double sum = 0;
    double count = 0;
    for (const Class& one : classes) {
      double wanted = 0;
      for (size_t i = 0; i < weights.size(); ++i) wanted += weights[i] * one.wanted[i];
      if (wanted == 0) continue;
      for (size_t limit = 0; limit < limits; ++limit) {
        sum += average_precision(one, weights, limit, wanted);
        ++count;
      }
    }
    if (count == 0) return std::nullopt;
    return sum / count;
  };
  const std::optional<double> value = mean(std::vector<uint32_t>(pairs.size(), 1));
  if (!value) return failed("no item has a right box");
  return Score{*value, statistics::bootstrap(pairs.size(), seed, mean)};
}

}  // namespace

std::vector<Metric> mean_average_precision_metrics() {
  const std::vector<std::string> tasks = {"object-detection"};
  return {{"map", "mean average precision",
           "The area under precision over recall of boxes, the mean over the classes and over the "
           "overlaps 0.50, 0.55, ... 0.95.",
           kBootstrap, "", tasks, mean_average_precision<kLimits>},
          {"map50", "mean average precision at 0.5",
           "The area under precision over recall of boxes that overlap by half, the mean over the "
           "classes.",
           kBootstrap, "", tasks, mean_average_precision<1>}};
}

}  // namespace xsp::metrics

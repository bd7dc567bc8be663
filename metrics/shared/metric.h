// Metrics tell how good a model's answers are. Each metrics/NAME.cc defines NAME_metrics(); the
// build collects them, so a new metric is a new file.
#ifndef XSP_METRICS_SHARED_METRIC_H_
#define XSP_METRICS_SHARED_METRIC_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desk/statistics/typical.h"
#include "shared/base/result.h"

namespace xsp::metrics {

inline constexpr uint64_t kSeed = 1;  // the default for intervals that are drawn

struct Box {
  std::string label;
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  double score = 1;
};

// A model's answer for one item, or the right one. A metric reads only the parts that it names; an
// item for which the model gave no answer has an empty one, which counts as wrong.
struct Answer {
  std::vector<std::string> labels;  // of a model: the best first; of a reference: the right one
  std::vector<double> scores;       // of a model: one for each of `labels`
  std::string text;
  std::vector<double> values;  // samples of an image, classes of its pixels, or truths of frames
  std::vector<Box> boxes;
};

struct Pair {
  Answer predicted;
  Answer right;
};

struct Score {
  double value = 0;
  std::optional<statistics::Interval> interval;  // 95 %; nothing if the items do not tell
};

struct Metric {
  std::string name;  // the name in a manifest's `expect`, and in the table result
  std::string title;
  std::string definition;
  std::string interval;            // how the interval is made
  std::string unit;                // "": a share of 1
  std::vector<std::string> tasks;  // tasks of manifests for which it is computed
  // Fails if an item lacks a part that the metric reads; the error names the item by its position.
  Result<Score> (*measure)(std::span<const Pair> pairs, uint64_t seed) = nullptr;
};

// Returns all metrics, ordered by name. The build generates this function.
std::vector<Metric> all_metrics();

// Return the metric of that name, or nothing; and all metrics of a task.
std::optional<Metric> find_metric(const std::string& name);
std::vector<Metric> metrics_of(const std::string& task);

}  // namespace xsp::metrics

#endif  // XSP_METRICS_SHARED_METRIC_H_

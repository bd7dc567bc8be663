// Accuracy: how often a model is right about a data set, by the metrics of its task.
#ifndef XSP_DESK_PREDICT_ACCURACY_H_
#define XSP_DESK_PREDICT_ACCURACY_H_

#include <string>
#include <vector>

#include "desk/experiment/record.h"
#include "desk/manifest/manifest.h"
#include "desk/predict/answers.h"
#include "desk/predict/dataset.h"
#include "shared/base/result.h"

namespace xsp::predict {

// Returns the metrics of the manifest's task, and those that it expects something of. Fails if one
// is unknown, or if there is none.
Result<std::vector<metrics::Metric>> metrics_of(const manifest::Manifest& manifest);

struct Scored {
  std::vector<experiment::ResultRow> rows;  // one for each metric, also if it cannot be measured
  std::string verdict;                      // a line for each expectation
  bool is_met = true;                       // false: an expectation is missed
};

// Measures the metrics. `answers` are ordered by item.
Scored score(const manifest::Manifest& manifest, const std::vector<metrics::Metric>& metrics,
             const std::vector<Item>& items, const std::vector<process::OutputAnswer>& answers,
             const Labels& labels);

}  // namespace xsp::predict

#endif  // XSP_DESK_PREDICT_ACCURACY_H_

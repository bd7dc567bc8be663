#include "metrics/shared/metric.h"

#include <algorithm>

namespace xsp::metrics {

std::optional<Metric> find_metric(const std::string& name) {
  for (const Metric& metric : all_metrics()) {
    if (metric.name == name) return metric;
  }
  return std::nullopt;
}

std::vector<Metric> metrics_of(const std::string& task) {
  std::vector<Metric> found;
  for (const Metric& metric : all_metrics()) {
    const auto& tasks = metric.tasks;
    if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) found.push_back(metric);
  }
  return found;
}

}  // namespace xsp::metrics

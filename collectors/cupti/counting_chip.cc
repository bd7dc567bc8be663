#include "collectors/cupti/counting_chip.h"

#include <algorithm>

namespace xsp::cupti {

std::unique_ptr<Chip> Chip::open(const CountingApi& api, const std::string& name,
                                 std::string* why) {
  std::unique_ptr<Chip> chip(new Chip(api, name));
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize, params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip->name_.c_str();
  const CUptiResult result = api.cuptiProfilerHostInitialize(&params);
  if (result != CUPTI_SUCCESS) {
    *why = "hardware counters: CUPTI does not know the metrics of the chip " + name + " (" +
           api.error_text(result) + "): use the newest CUDA toolkit's, see XSP_CUPTI";
    return nullptr;
  }
  chip->host_ = params.pHostObject;
  return chip;
}

Chip::~Chip() {
  if (host_ == nullptr) return;
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize, params);
  params.pHostObject = host_;
  (void)api_.cuptiProfilerHostDeinitialize(&params);
}

std::vector<std::string> Chip::submetrics(const std::string& metric, CUpti_MetricType type) const {
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_GetSubMetrics, params);
  params.pHostObject = host_;
  params.metricType = type;
  params.pMetricName = metric.c_str();
  if (api_.cuptiProfilerHostGetSubMetrics(&params) != CUPTI_SUCCESS) return {};
  return {params.ppSubMetrics, params.ppSubMetrics + params.numOfSubmetrics};
}

bool Chip::has_metric(const std::string& metric) const {
  const size_t dot = metric.find('.');
  if (dot == metric.npos) return false;
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties, params);
  params.pHostObject = host_;
  params.pMetricName = metric.c_str();
  if (api_.cuptiProfilerHostGetMetricProperties(&params) != CUPTI_SUCCESS) return false;
  const std::vector<std::string> endings = submetrics(metric.substr(0, dot), params.metricType);
  return std::find(endings.begin(), endings.end(), metric.substr(dot)) != endings.end();
}

std::vector<std::string> Chip::metrics() const {
  std::vector<std::string> names;
  for (const CUpti_MetricType type :
       {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT}) {
    XSP_CUPTI_PARAMS(CUpti_Profiler_Host_GetBaseMetrics, params);
    params.pHostObject = host_;
    params.metricType = type;
    if (api_.cuptiProfilerHostGetBaseMetrics(&params) != CUPTI_SUCCESS) continue;
    // The list is copied, because the next call may reuse it.
    const std::vector<std::string> bases(params.ppMetricNames,
                                         params.ppMetricNames + params.numMetrics);
    std::vector<std::string> endings;
    for (const std::string& base : bases) {
      if (base.find('.') != base.npos) continue;  // metrics of a group for sampling
      if (endings.empty()) endings = submetrics(base, type);
      for (const std::string& ending : endings) {
        if (ending.find(".peak_sustained") == ending.npos) names.push_back(base + ending);
      }
    }
  }
  return names;
}

std::vector<uint8_t> Chip::configure(const std::vector<std::string>& metrics, std::string* why) {
  configured_ = metrics;
  for (const std::string& metric : configured_) configured_names_.push_back(metric.c_str());
  const auto fail = [&](const char* what, CUptiResult result) {
    *why = std::string("hardware counters: ") + what + " on " + name_ + ": " +
           api_.error_text(result) + ": ask for fewer counters, see docs/counters.md";
    return std::vector<uint8_t>();
  };
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics, add);
  add.pHostObject = host_;
  add.ppMetricNames = configured_names_.data();
  add.numMetrics = configured_names_.size();
  CUptiResult result = api_.cuptiProfilerHostConfigAddMetrics(&add);
  if (result != CUPTI_SUCCESS) return fail("cannot be counted together", result);
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize, size);
  size.pHostObject = host_;
  result = api_.cuptiProfilerHostGetConfigImageSize(&size);
  if (result != CUPTI_SUCCESS) return fail("cannot be scheduled", result);
  std::vector<uint8_t> image(size.configImageSize);
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage, get);
  get.pHostObject = host_;
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  result = api_.cuptiProfilerHostGetConfigImage(&get);
  if (result != CUPTI_SUCCESS) return fail("cannot be scheduled", result);
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses, passes);
  passes.configImageSize = image.size();
  passes.pConfigImage = image.data();
  result = api_.cuptiProfilerHostGetNumOfPasses(&passes);
  if (result != CUPTI_SUCCESS) return fail("cannot be scheduled", result);
  passes_ = passes.numOfPasses;
  return image;
}

bool Chip::evaluate(const std::vector<uint8_t>& image, size_t range,
                    std::vector<double>* values) const {
  values->assign(configured_names_.size(), 0);
  XSP_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues, params);
  params.pHostObject = host_;
  params.pCounterDataImage = image.data();
  params.counterDataImageSize = image.size();
  params.rangeIndex = range;
  // CUPTI takes the names as non-const, but does not change them.
  params.ppMetricNames = const_cast<const char**>(configured_names_.data());
  params.numMetrics = configured_names_.size();
  params.pMetricValues = values->data();
  return api_.cuptiProfilerHostEvaluateToGpuValues(&params) == CUPTI_SUCCESS;
}

}  // namespace xsp::cupti

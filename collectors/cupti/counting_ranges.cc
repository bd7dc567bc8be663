#include "collectors/cupti/counting_ranges.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "collectors/cupti/counting_permission.h"

namespace xsp::cupti {

Ranges::Ranges(const CountingApi& api, const Chip& chip, CUcontext context,
               const std::vector<uint8_t>& config, const std::vector<std::string>& metrics)
    : api_(api), chip_(chip), context_(context), config_(config) {
  for (const std::string& metric : metrics) metric_names_.push_back(metric.c_str());
}

std::unique_ptr<Ranges> Ranges::open(const CountingApi& api, const Chip& chip, CUcontext context,
                                     const std::vector<uint8_t>& config,
                                     const std::vector<std::string>& metrics, std::string* why) {
  std::unique_ptr<Ranges> ranges(new Ranges(api, chip, context, config, metrics));
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_Enable, params);
  params.ctx = context;
  const CUptiResult result = api.cuptiRangeProfilerEnable(&params);
  if (result != CUPTI_SUCCESS) {
    *why = refusal(api, result);
    return nullptr;
  }
  ranges->profiler_ = params.pRangeProfilerObject;
  return ranges;
}

Ranges::~Ranges() {
  if (profiler_ == nullptr) return;
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_Disable, params);
  params.pRangeProfilerObject = profiler_;
  (void)api_.cuptiRangeProfilerDisable(&params);
}

bool Ranges::is_fine(CUptiResult result, const char* what, std::string* why) const {
  if (result == CUPTI_SUCCESS) return true;
  *why = refusal(api_, result) + " (" + what + ")";
  return false;
}

bool Ranges::prepare(Replay replay, Scope scope, size_t capacity, std::string* why) {
  replay_ = replay;
  scope_ = scope;
  capacity_ = capacity;
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize, params);
  params.pRangeProfilerObject = profiler_;
  params.pMetricNames = metric_names_.data();
  params.numMetrics = metric_names_.size();
  params.maxNumOfRanges = capacity;
  params.maxNumRangeTreeNodes = static_cast<uint32_t>(capacity);
  if (!is_fine(api_.cuptiRangeProfilerGetCounterDataSize(&params), "size of the counters", why)) {
    return false;
  }
  image_.assign(params.counterDataSize, 0);
  return configure(why);
}

bool Ranges::configure(std::string* why) {
  is_complete_ = false;
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, image);
  image.pRangeProfilerObject = profiler_;
  image.counterDataSize = image_.size();
  image.pCounterData = image_.data();
  if (!is_fine(api_.cuptiRangeProfilerCounterDataImageInitialize(&image), "room", why)) {
    return false;
  }
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig, params);
  params.pRangeProfilerObject = profiler_;
  params.configSize = config_.size();
  params.pConfig = config_.data();
  params.counterDataImageSize = image_.size();
  params.pCounterDataImage = image_.data();
  params.range = scope_ == Scope::kWhole ? CUPTI_UserRange : CUPTI_AutoRange;
  params.replayMode = replay_ == Replay::kKernel ? CUPTI_KernelReplay : CUPTI_UserReplay;
  params.maxRangesPerPass = capacity_;
  params.numNestingLevels = 1;
  params.minNestingLevel = 1;
  params.passIndex = 0;
  params.targetNestingLevel = 1;
  return is_fine(api_.cuptiRangeProfilerSetConfig(&params), "configuration", why);
}

bool Ranges::start(std::string* why) {
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_Start, params);
  params.pRangeProfilerObject = profiler_;
  if (!is_fine(api_.cuptiRangeProfilerStart(&params), "start", why)) return false;
  if (scope_ != Scope::kWhole) return true;
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange, range);
  range.pRangeProfilerObject = profiler_;
  range.pRangeName = "0";
  return is_fine(api_.cuptiRangeProfilerPushRange(&range), "begin of a range", why);
}

bool Ranges::stop(std::string* why) {
  if (scope_ == Scope::kWhole) {
    XSP_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange, range);
    range.pRangeProfilerObject = profiler_;
    if (!is_fine(api_.cuptiRangeProfilerPopRange(&range), "end of a range", why)) return false;
  }
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_Stop, params);
  params.pRangeProfilerObject = profiler_;
  if (!is_fine(api_.cuptiRangeProfilerStop(&params), "stop", why)) return false;
  is_complete_ = replay_ == Replay::kKernel || params.isAllPassSubmitted != 0;
  return true;
}

// A range's name is its number in the order of execution, counted from the first session on.
bool Ranges::number_of(size_t range, uint64_t* number, std::string* why) const {
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo, params);
  params.pCounterDataImage = image_.data();
  params.counterDataImageSize = image_.size();
  params.rangeIndex = range;
  params.rangeDelimiter = "/";
  if (!is_fine(api_.cuptiRangeProfilerCounterDataGetRangeInfo(&params), "name of a range", why)) {
    return false;
  }
  *number = std::strtoull(params.rangeName == nullptr ? "" : params.rangeName, nullptr, 10);
  return true;
}

bool Ranges::read(std::vector<std::vector<double>>* values, std::string* why) {
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData, decode);
  decode.pRangeProfilerObject = profiler_;
  if (!is_fine(api_.cuptiRangeProfilerDecodeData(&decode), "decoding", why)) return false;
  XSP_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo, info);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  if (!is_fine(api_.cuptiRangeProfilerGetCounterDataInfo(&info), "number of ranges", why)) {
    return false;
  }
  std::vector<std::pair<uint64_t, size_t>> order(
      info.numTotalRanges);  // number, index in the image
  for (size_t i = 0; i < order.size(); ++i) {
    order[i].second = i;
    if (!number_of(i, &order[i].first, why)) return false;
  }
  std::sort(order.begin(), order.end());
  values->assign(order.size(), {});
  for (size_t i = 0; i < order.size(); ++i) {
    if (!chip_.evaluate(image_, order[i].second, &(*values)[i])) (*values)[i].clear();
  }
  return configure(why);
}

}  // namespace xsp::cupti

#include "collectors/cupti/counting_fake.h"

#include <algorithm>

namespace xsp::cupti {
namespace {

FakeProfiler the_fake;
int dummy = 0;

template <typename T>
T* handle() {
  return reinterpret_cast<T*>(&dummy);
}

CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* user) {
  if (the_fake.subscribe_result != CUPTI_SUCCESS) return the_fake.subscribe_result;
  *subscriber = handle<std::remove_pointer_t<CUpti_SubscriberHandle>>();
  the_fake.on_event = function;
  the_fake.user = user;
  return CUPTI_SUCCESS;
}
CUptiResult unsubscribe(CUpti_SubscriberHandle) {
  the_fake.on_event = nullptr;
  return CUPTI_SUCCESS;
}
CUptiResult properties(CUpti_Profiler_Host_GetMetricProperties_Params* p) {
  p->metricType = CUPTI_METRIC_TYPE_COUNTER;
  return the_fake.metrics.count(p->pMetricName) != 0 ? CUPTI_SUCCESS
                                                     : CUPTI_ERROR_INVALID_METRIC_NAME;
}
CUptiResult submetrics(CUpti_Profiler_Host_GetSubMetrics_Params* p) {
  static const char* endings[] = {".sum"};
  p->ppSubMetrics = endings;
  p->numOfSubmetrics = 1;
  return CUPTI_SUCCESS;
}
CUptiResult add_metrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  the_fake.configured.assign(p->ppMetricNames, p->ppMetricNames + p->numMetrics);
  return CUPTI_SUCCESS;
}
CUptiResult evaluate_range(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  for (size_t i = 0; i < p->numMetrics; ++i) {
    p->pMetricValues[i] = 1000.0 * static_cast<double>(p->rangeIndex + 1) + static_cast<double>(i);
  }
  return CUPTI_SUCCESS;
}
CUptiResult set_config(CUpti_RangeProfiler_SetConfig_Params* p) {
  the_fake.mode = p->replayMode;
  the_fake.scope = p->range;
  the_fake.capacity = p->maxRangesPerPass;
  the_fake.taken = 0;
  the_fake.first_range += the_fake.ranges;
  the_fake.ranges = 0;
  return CUPTI_SUCCESS;
}
CUptiResult start(CUpti_RangeProfiler_Start_Params*) {
  the_fake.is_running = true;
  the_fake.executed = 0;
  the_fake.pushed = 0;
  return CUPTI_SUCCESS;
}
CUptiResult stop(CUpti_RangeProfiler_Stop_Params* p) {
  the_fake.is_running = false;
  if (the_fake.scope == CUPTI_UserRange) the_fake.executed = the_fake.pushed;
  if (the_fake.taken++ == 0) the_fake.ranges = std::min(the_fake.executed, the_fake.capacity);
  p->isAllPassSubmitted = the_fake.taken >= the_fake.passes ? 1 : 0;
  return CUPTI_SUCCESS;
}
CUptiResult range_info(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* p) {
  static std::string name;
  name = std::to_string(the_fake.first_range + p->rangeIndex);
  p->rangeName = name.c_str();
  return CUPTI_SUCCESS;
}

void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const char* function,
          const char* symbol, const void* params) {
  CUpti_CallbackData data{};
  data.functionName = function;
  data.functionParams = params;
  data.functionReturnValue = &the_fake.launch_result;
  data.symbolName = symbol;
  data.context = FakeProfiler::context();
  static uint32_t correlation_id = 0;
  data.correlationId = ++correlation_id;
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    if (the_fake.on_event != nullptr) the_fake.on_event(the_fake.user, domain, id, &data);
  }
}

void fill_host(CountingApi* the_api) {
  CountingApi& api = *the_api;
  const auto fine = [](auto*) { return CUPTI_SUCCESS; };
  api.cuptiSubscribe = subscribe;
  api.cuptiUnsubscribe = unsubscribe;
  api.cuptiEnableCallback = [](uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                               CUpti_CallbackId) { return CUPTI_SUCCESS; };
  api.cuptiGetDeviceId = [](CUcontext, uint32_t* id) { return *id = 0, CUPTI_SUCCESS; };
  api.cuptiGetStreamIdEx = [](CUcontext, CUstream, uint8_t, uint32_t* id) {
    return *id = 7, CUPTI_SUCCESS;
  };
  api.cuptiProfilerHostInitialize = [](CUpti_Profiler_Host_Initialize_Params* p) {
    p->pHostObject = handle<CUpti_Profiler_Host_Object>();
    return CUPTI_SUCCESS;
  };
  api.cuptiProfilerHostDeinitialize = fine;
  api.cuptiProfilerHostGetMetricProperties = properties;
  api.cuptiProfilerHostGetSubMetrics = submetrics;
  api.cuptiProfilerHostConfigAddMetrics = add_metrics;
  api.cuptiProfilerHostGetConfigImageSize = [](CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
    return p->configImageSize = 4, CUPTI_SUCCESS;
  };
  api.cuptiProfilerHostGetConfigImage = fine;
  api.cuptiProfilerHostGetNumOfPasses = [](CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
    return p->numOfPasses = the_fake.passes, CUPTI_SUCCESS;
  };
  api.cuptiProfilerHostEvaluateToGpuValues = evaluate_range;
}

void fill_ranges(CountingApi* the_api) {
  CountingApi& api = *the_api;
  const auto fine = [](auto*) { return CUPTI_SUCCESS; };
  api.cuptiRangeProfilerEnable = [](CUpti_RangeProfiler_Enable_Params* p) {
    ++the_fake.enabled;
    p->pRangeProfilerObject = handle<CUpti_RangeProfiler_Object>();
    return the_fake.enable_result;
  };
  api.cuptiRangeProfilerDisable = [](CUpti_RangeProfiler_Disable_Params*) {
    return ++the_fake.disabled, CUPTI_SUCCESS;
  };
  api.cuptiRangeProfilerGetCounterDataSize = [](CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
    return p->counterDataSize = p->maxNumOfRanges, CUPTI_SUCCESS;
  };
  api.cuptiRangeProfilerCounterDataImageInitialize = fine;
  api.cuptiRangeProfilerPushRange = [](CUpti_RangeProfiler_PushRange_Params*) {
    return ++the_fake.pushed, CUPTI_SUCCESS;
  };
  api.cuptiRangeProfilerPopRange = fine;
  api.cuptiRangeProfilerSetConfig = set_config;
  api.cuptiRangeProfilerStart = start;
  api.cuptiRangeProfilerStop = stop;
  api.cuptiRangeProfilerDecodeData = fine;
  api.cuptiRangeProfilerGetCounterDataInfo = [](CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
    return p->numTotalRanges = the_fake.ranges, CUPTI_SUCCESS;
  };
  api.cuptiRangeProfilerCounterDataGetRangeInfo = range_info;
}

void fill_driver(CountingApi* the_api) {
  CountingApi& api = *the_api;
  api.cuCtxPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  api.cuCtxPopCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
  api.cuCtxSynchronize = [] { return CUDA_SUCCESS; };
  // A kernel of the runtime must be asked for its function first.
  api.cuFuncGetAttribute = [](int* value, CUfunction_attribute, CUfunction function) {
    *value = 40;
    return function == handle<std::remove_pointer_t<CUfunction>>() ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_HANDLE;
  };
  api.cuKernelGetFunction = [](CUfunction* function, CUkernel) {
    return *function = handle<std::remove_pointer_t<CUfunction>>(), CUDA_SUCCESS;
  };
  api.cuMemGetInfo = [](size_t* free_bytes, size_t* total_bytes) {
    return *free_bytes = 3, *total_bytes = 4, CUDA_SUCCESS;
  };
  api.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus* status) {
    *status =
        the_fake.is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
}

}  // namespace

FakeProfiler& FakeProfiler::get() { return the_fake; }
FakeProfiler& FakeProfiler::reset() { return the_fake = FakeProfiler(); }
CUcontext FakeProfiler::context() { return handle<std::remove_pointer_t<CUcontext>>(); }

CountingApi FakeProfiler::api() {
  CountingApi api;
  fill_host(&api);
  fill_ranges(&api);
  fill_driver(&api);
  return api;
}

void FakeProfiler::launch(const char* kernel, unsigned grid) {
  cuLaunchKernel_params params{};
  params.gridDimX = grid;
  params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
  params.blockDimX = 256;
  static int kernel_handle = 0;
  params.f = reinterpret_cast<CUfunction>(&kernel_handle);
  call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", kernel,
       &params);
  if (is_running && !is_capturing && launch_result == CUDA_SUCCESS) ++executed;
}

void FakeProfiler::launch_graph() {
  cuGraphLaunch_params params{};
  call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch", nullptr,
       &params);
}

}  // namespace xsp::cupti

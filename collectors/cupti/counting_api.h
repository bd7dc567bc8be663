// The functions of CUPTI and of the CUDA driver that counting calls, as pointers. They are looked
// up at run time, never linked, and tests replace them by fakes.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_API_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_API_H_

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <functional>
#include <string>

namespace xsp::cupti {

struct CountingApi {
#define XSP_COUNTING_CUPTI(X)                     \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiEnableCallback)                          \
  X(cuptiGetDeviceId)                             \
  X(cuptiGetResultString)                         \
  X(cuptiGetStreamIdEx)                           \
  X(cuptiProfilerDeviceSupported)                 \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostDeinitialize)                \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiProfilerHostGetBaseMetrics)              \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetMetricProperties)         \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostGetSubMetrics)               \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerInitialize)                      \
  X(cuptiRangeProfilerCounterDataGetRangeInfo)    \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerDecodeData)                 \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerGetCounterDataInfo)         \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiSubscribe)                               \
  X(cuptiUnsubscribe)
// Functions of the driver, by the names that libcuda.so.1 exports.
#define XSP_COUNTING_DRIVER(X)                  \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2")      \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2")    \
  X(cuCtxSynchronize, "cuCtxSynchronize")       \
  X(cuFuncGetAttribute, "cuFuncGetAttribute")   \
  X(cuKernelGetFunction, "cuKernelGetFunction") \
  X(cuMemGetInfo, "cuMemGetInfo_v2")            \
  X(cuStreamIsCapturing, "cuStreamIsCapturing")
#define XSP_COUNTING_POINTER(name, ...) decltype(&::name) name = nullptr;
  XSP_COUNTING_CUPTI(XSP_COUNTING_POINTER)
  XSP_COUNTING_DRIVER(XSP_COUNTING_POINTER)
#undef XSP_COUNTING_POINTER

  using Symbol = std::function<void*(const char*)>;
  // Looks all functions up. Returns the name of the first one that is missing, or null.
  const char* load(const Symbol& cupti, const Symbol& driver);
  // Returns a name such as "CUPTI_ERROR_INVALID_PARAMETER".
  std::string error_text(CUptiResult result) const;
};

// Declares a CUPTI struct of parameters in which all but the size is zero.
#define XSP_CUPTI_PARAMS(type, name) \
  type##_Params name{};              \
  name.structSize = type##_Params_STRUCT_SIZE

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_API_H_

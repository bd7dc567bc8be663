#include "collectors/opencl/layer.h"

#include <dlfcn.h>
#include <string.h>

#include <tuple>
#include <type_traits>

#include "collectors/opencl/commands.h"
// This comes after the version that commands.h asks for.
#include <CL/cl_layer.h>

#include "xsp/plugin.h"

namespace xsp::opencl {
namespace {

cl_icd_dispatch below;  // the loader's functions
cl_icd_dispatch watched;
bool is_taken = false;

// ---- Calls that wait or build -------------------------------------------------------------------

// Gives a function's name as a type, because templates take no texts.
#define XSP_OPENCL_NAME(function)                   \
  struct Name_##function {                          \
    static constexpr const char* kName = #function; \
  };

// Watches a function of any form: `Member` is its place in the dispatch table.
template <typename Name, auto Member, typename Pointer>
struct Plain;
template <typename Name, auto Member, typename Result, typename... Args>
struct Plain<Name, Member, Result(CL_API_CALL*)(Args...)> {
  static Result CL_API_CALL call(Args... args) {
    if (!is_recorded()) return (below.*Member)(args...);
    Call one = {Name::kName, xsp_now_ns(), 0};
    Result result = (below.*Member)(args...);
    one.end_ns = xsp_now_ns();
    record(one);
    return result;
  }
};

// ---- Calls that enqueue -------------------------------------------------------------------------

// Describes the work of a command. `kBytes` is the index of the argument with the number of bytes;
// -1 means none.
template <typename Name, int kBytesAt>
struct Work : Name {
  static constexpr int kBytes = kBytesAt;
};

template <typename... Args>
void describe_kernel(const std::tuple<Args...>& args, Call* one) {
  one->kernel = std::get<1>(args);
  if constexpr (sizeof...(Args) > 5) {
    one->dimensions = std::get<2>(args);
    one->global_size = std::get<4>(args);
    one->local_size = std::get<5>(args);
  }
}

// The event is the last argument, or the one before it where the last one is the error (mapping).
template <typename Work, auto Member, typename Pointer>
struct Enqueue;
template <typename Work, auto Member, typename Result, typename... Args>
struct Enqueue<Work, Member, Result(CL_API_CALL*)(Args...)> {
  static constexpr size_t kEvent = sizeof...(Args) - (std::is_pointer_v<Result> ? 2 : 1);
  static Result CL_API_CALL call(Args... args) {
    if (!is_recorded()) return (below.*Member)(args...);
    std::tuple<Args...> all(args...);
    cl_event* const asked = std::get<kEvent>(all);
    cl_event event = nullptr;
    std::get<kEvent>(all) = &event;
    Call one = {Work::kName, xsp_now_ns(), 0};
    const auto function = below.*Member;
    Result result = std::apply(function, all);
    one.end_ns = xsp_now_ns();
    one.queue = std::get<0>(all);
    one.event = event;
    one.work = Work::kWork;
    one.type = Work::kType;
    if constexpr (Work::kBytes > 0) one.bytes = static_cast<int64_t>(std::get<Work::kBytes>(all));
    if constexpr (Work::kWork == nullptr) describe_kernel(all, &one);
    if (event != nullptr && asked != nullptr) {
      *asked = event;
      (void)below.clRetainEvent(event);
    }
    record(one);
    return result;
  }
};

// ---- Queues, which must tell times --------------------------------------------------------------

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* error) {
  const cl_command_queue queue =
      below.clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, error);
  if (queue != nullptr) return queue;
  return below.clCreateCommandQueue(context, device, properties, error);
}

cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties* properties,
                                                          cl_int* error) {
  constexpr size_t kPropertiesMax = 32;
  cl_queue_properties changed[kPropertiesMax + 3] = {};
  size_t count = 0;
  bool has_flags = false;
  while (properties != nullptr && properties[count] != 0 && count + 2 <= kPropertiesMax) {
    changed[count] = properties[count];
    changed[count + 1] = properties[count + 1];
    if (properties[count] == CL_QUEUE_PROPERTIES) {
      changed[count + 1] |= CL_QUEUE_PROFILING_ENABLE;
      has_flags = true;
    }
    count += 2;
  }
  if (!has_flags) {
    changed[count] = CL_QUEUE_PROPERTIES;
    changed[count + 1] = CL_QUEUE_PROFILING_ENABLE;
  }
  const bool is_whole = properties == nullptr || properties[count] == 0;
  cl_command_queue queue = nullptr;
  if (is_whole) {
    queue = below.clCreateCommandQueueWithProperties(context, device, changed, error);
  }
  if (queue != nullptr) return queue;
  return below.clCreateCommandQueueWithProperties(context, device, properties, error);
}

// ---- The table ----------------------------------------------------------------------------------

#define XSP_OPENCL_PLAIN(F) \
  F(clFinish)               \
  F(clFlush)                \
  F(clWaitForEvents)        \
  F(clBuildProgram)         \
  F(clCompileProgram) F(clLinkProgram) F(clCreateBuffer) F(clCreateContext) F(clReleaseMemObject)

// Columns: function, work of the device, its type, index of the argument with the bytes.
#define XSP_OPENCL_ENQUEUES(F)                               \
  F(clEnqueueNDRangeKernel, nullptr, "kernel", -1)           \
  F(clEnqueueTask, nullptr, "kernel", -1)                    \
  F(clEnqueueNativeKernel, "native kernel", "kernel", -1)    \
  F(clEnqueueReadBuffer, "memcpy DtoH", "memcpy", 4)         \
  F(clEnqueueWriteBuffer, "memcpy HtoD", "memcpy", 4)        \
  F(clEnqueueCopyBuffer, "memcpy DtoD", "memcpy", 5)         \
  F(clEnqueueFillBuffer, "memset", "memset", 5)              \
  F(clEnqueueReadBufferRect, "memcpy DtoH", "memcpy", -1)    \
  F(clEnqueueWriteBufferRect, "memcpy HtoD", "memcpy", -1)   \
  F(clEnqueueCopyBufferRect, "memcpy DtoD", "memcpy", -1)    \
  F(clEnqueueReadImage, "memcpy DtoH", "memcpy", -1)         \
  F(clEnqueueWriteImage, "memcpy HtoD", "memcpy", -1)        \
  F(clEnqueueCopyImage, "memcpy DtoD", "memcpy", -1)         \
  F(clEnqueueCopyImageToBuffer, "memcpy DtoD", "memcpy", -1) \
  F(clEnqueueCopyBufferToImage, "memcpy DtoD", "memcpy", -1) \
  F(clEnqueueFillImage, "memset", "memset", -1)              \
  F(clEnqueueMapBuffer, "map", "memcpy", 5)                  \
  F(clEnqueueMapImage, "map", "memcpy", -1)                  \
  F(clEnqueueUnmapMemObject, "unmap", "memcpy", -1)          \
  F(clEnqueueMigrateMemObjects, "migrate", "memcpy", -1)     \
  F(clEnqueueSVMMemcpy, "memcpy", "memcpy", 4)               \
  F(clEnqueueSVMMemFill, "memset", "memset", 4)

#define XSP_OPENCL_DEFINE(function) XSP_OPENCL_NAME(function)
XSP_OPENCL_PLAIN(XSP_OPENCL_DEFINE)
#undef XSP_OPENCL_DEFINE
#define XSP_OPENCL_DEFINE(function, work, type, bytes) \
  struct Work_##function {                             \
    static constexpr const char* kName = #function;    \
    static constexpr const char* kWork = work;         \
    static constexpr const char* kType = type;         \
    static constexpr int kBytes = bytes;               \
  };
XSP_OPENCL_ENQUEUES(XSP_OPENCL_DEFINE)
#undef XSP_OPENCL_DEFINE

void watch() {
  watched = below;
#define XSP_OPENCL_WATCH(function)                                         \
  if (below.function != nullptr) {                                         \
    watched.function = &Plain<Name_##function, &cl_icd_dispatch::function, \
                              decltype(cl_icd_dispatch::function)>::call;  \
  }
  XSP_OPENCL_PLAIN(XSP_OPENCL_WATCH)
#undef XSP_OPENCL_WATCH
#define XSP_OPENCL_WATCH(function, work, type, bytes)                        \
  if (below.function != nullptr) {                                           \
    watched.function = &Enqueue<Work_##function, &cl_icd_dispatch::function, \
                                decltype(cl_icd_dispatch::function)>::call;  \
  }
  XSP_OPENCL_ENQUEUES(XSP_OPENCL_WATCH)
#undef XSP_OPENCL_WATCH
  watched.clCreateCommandQueue = create_queue;
  if (below.clCreateCommandQueueWithProperties != nullptr) {
    watched.clCreateCommandQueueWithProperties = create_queue_with_properties;
  }
}

}  // namespace

bool is_in_place() { return is_taken; }

cl_int layer_info(cl_layer_info what, size_t size, void* value, size_t* size_needed) {
  constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  constexpr char kName[] = "xsp";
  const void* source = what == CL_LAYER_API_VERSION ? static_cast<const void*>(&kVersion) : kName;
  const size_t bytes = what == CL_LAYER_API_VERSION ? sizeof kVersion : sizeof kName;
  if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) return CL_INVALID_VALUE;
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr) memcpy(value, source, bytes);
  if (size_needed != nullptr) *size_needed = bytes;
  return CL_SUCCESS;
}

cl_int take_place(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_taken,
                  const cl_icd_dispatch** layer) {
  constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  // The table must reach to the last function of OpenCL 1.2: these are called without a check.
  constexpr cl_uint kLeast = offsetof(cl_icd_dispatch, clGetGLContextInfoKHR) / sizeof(void*);
  if (target == nullptr || entries_taken == nullptr || layer == nullptr || entries < kLeast) {
    return CL_INVALID_VALUE;
  }
  const cl_uint common = entries < kEntries ? entries : kEntries;
  memcpy(static_cast<void*>(&below), target, common * sizeof(void*));
  set_target(&below);
  watch();
  is_taken = true;
  // The function of the library that records this process, if it is recorded.
  const auto begin = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "xsp_begin_opencl"));
  if (begin != nullptr) begin();
  *entries_taken = common;
  *layer = &watched;
  return CL_SUCCESS;
}

}  // namespace xsp::opencl

extern "C" {
XSP_API cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void* value,
                                          size_t* size_needed) {
  return xsp::opencl::layer_info(what, size, value, size_needed);
}
XSP_API cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target,
                                       cl_uint* entries_taken, const cl_icd_dispatch** layer) {
  return xsp::opencl::take_place(entries, target, entries_taken, layer);
}
}

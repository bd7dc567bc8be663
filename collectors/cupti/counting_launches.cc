#include "collectors/cupti/counting_launches.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "xsp/xsp.h"

namespace xsp::cupti {
namespace {

constexpr CUpti_CallbackId kDriverCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};
// The calls of the runtime that end in those of the driver.
constexpr CUpti_CallbackId kRuntimeCalls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
};

// Describes the call of this thread that contains a launch of the driver.
struct Open {
  const char* runtime_call = nullptr;
  const char* call = "";
  int64_t start_ns = 0;
  bool is_captured = false;
};
thread_local Open open_call;

uint32_t thread_id() {
  thread_local const auto id = static_cast<uint32_t>(syscall(SYS_gettid));
  return id;
}

// Lists the kernels that a call of the driver launches.
struct Asked {
  KernelKey key;
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  bool is_per_thread = false;  // stream 0 means the thread's own stream
};

template <typename Shape>
Asked kernel_of(CUfunction function, const Shape& shape, const char* name, bool is_per_thread) {
  Asked asked;
  asked.key.mangled = name == nullptr ? "(unknown kernel)" : name;
  asked.key.grid = {shape.gridDimX, shape.gridDimY, shape.gridDimZ};
  asked.key.block = {shape.blockDimX, shape.blockDimY, shape.blockDimZ};
  asked.key.shared_bytes = shape.sharedMemBytes;
  asked.function = function;
  asked.stream = shape.hStream;
  asked.is_per_thread = is_per_thread;
  return asked;
}

Asked graph_of(CUstream stream, bool is_per_thread) {
  Asked asked;
  asked.stream = stream;
  asked.is_per_thread = is_per_thread;
  return asked;
}

Asked of_call(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const auto kernel = [&](const auto* call, bool is_per_thread) {
    return kernel_of(call->f, *call, data.symbolName, is_per_thread);
  };
  const auto kernel_ex = [&](const auto* call, bool is_per_thread) {
    return kernel_of(call->f, *call->config, data.symbolName, is_per_thread);
  };
  const void* p = data.functionParams;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
      return kernel_ex(static_cast<const cuLaunchKernelEx_params*>(p), false);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return kernel_ex(static_cast<const cuLaunchKernelEx_ptsz_params*>(p), true);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
      return kernel(static_cast<const cuLaunchCooperativeKernel_params*>(p), false);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return kernel(static_cast<const cuLaunchCooperativeKernel_ptsz_params*>(p), true);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
      return graph_of(static_cast<const cuGraphLaunch_params*>(p)->hStream, false);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      return graph_of(static_cast<const cuGraphLaunch_ptsz_params*>(p)->hStream, true);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return kernel(static_cast<const cuLaunchKernel_ptsz_params*>(p), true);
    default:
      return kernel(static_cast<const cuLaunchKernel_params*>(p), false);
  }
}

}  // namespace

bool Launches::subscribe(std::string* why) {
  const CUptiResult result = api_.cuptiSubscribe(&subscriber_, on_event, this);
  if (result != CUPTI_SUCCESS) {
    subscriber_ = nullptr;
    *why = "hardware counters: CUPTI refuses a subscriber (" + api_.error_text(result) +
           "): another profiler is active in this process: end it";
    return false;
  }
  for (const CUpti_CallbackId id : kDriverCalls) {
    (void)api_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  for (const CUpti_CallbackId id : kRuntimeCalls) {
    (void)api_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API, id);
  }
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}) {
    (void)api_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
  return true;
}

void Launches::unsubscribe() {
  if (subscriber_ != nullptr) (void)api_.cuptiUnsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void Launches::on_event(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const void* data) {
  auto* self = static_cast<Launches*>(user);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    self->on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    self->on_runtime(*static_cast<const CUpti_CallbackData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    self->on_driver(id, *static_cast<const CUpti_CallbackData*>(data));
  }
}

void Launches::on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) {
  const std::lock_guard lock(mutex_);
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    contexts_.insert(data.context);
  } else {
    contexts_.erase(data.context);
  }
}

void Launches::on_runtime(const CUpti_CallbackData& data) {
  if (data.callbackSite == CUPTI_API_ENTER) {
    open_call = {data.functionName, data.functionName, xsp_now_ns(), false};
  } else {
    open_call = {};
  }
}

void Launches::on_driver(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  Asked asked = of_call(id, data);
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (open_call.runtime_call == nullptr)
      open_call = {nullptr, data.functionName, xsp_now_ns(), {}};
    // A captured launch is not executed. The status cannot be read if the stream is the legacy one
    // while another is being captured, which is an error of the program.
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    open_call.is_captured = api_.cuStreamIsCapturing(asked.stream, &status) == CUDA_SUCCESS &&
                            status != CU_STREAM_CAPTURE_STATUS_NONE;
    return;
  }
  const Open open = open_call;
  if (open.runtime_call == nullptr) open_call = {};
  const auto* result = static_cast<const CUresult*>(data.functionReturnValue);
  if (open.is_captured || (result != nullptr && *result != CUDA_SUCCESS)) return;
  Launch launch;
  launch.api = open.call;
  launch.context = data.context;
  launch.thread = thread_id();
  launch.correlation_id = data.correlationId;
  launch.start_ns = open.start_ns;
  launch.end_ns = xsp_now_ns();
  (void)api_.cuptiGetDeviceId(data.context, &launch.device);
  (void)api_.cuptiGetStreamIdEx(data.context, asked.stream, asked.is_per_thread ? 1 : 0,
                                &launch.stream);
  if (asked.function != nullptr) describe(asked.function, &asked.key);
  const std::lock_guard lock(mutex_);
  contexts_.insert(data.context);
  launch.kernel = intern(std::move(asked.key));
  launches_.push_back(launch);
}

// The runtime launches kernels of its libraries, which have functions once they are loaded.
void Launches::describe(CUfunction function, KernelKey* key) const {
  int registers = 0, shared_bytes = 0;
  CUresult known = api_.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  if (known != CUDA_SUCCESS) {
    CUfunction loaded = nullptr;
    known = api_.cuKernelGetFunction(&loaded, reinterpret_cast<CUkernel>(function));
    if (known != CUDA_SUCCESS) return;
    function = loaded;
    known = api_.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
  }
  if (known != CUDA_SUCCESS ||
      api_.cuFuncGetAttribute(&shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) !=
          CUDA_SUCCESS) {
    return;
  }
  key->registers = static_cast<uint32_t>(registers);
  key->static_shared_bytes = static_cast<uint32_t>(shared_bytes);
}

uint32_t Launches::intern(KernelKey key) {
  const auto next = static_cast<uint32_t>(keys_.size());
  const auto [at, is_new] = indices_.try_emplace(std::move(key), next);
  if (is_new) keys_.push_back(&at->first);
  return at->second;
}

std::vector<Launch> Launches::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(launches_, {});
}

size_t Launches::count() const {
  const std::lock_guard lock(mutex_);
  return launches_.size();
}

std::vector<CUcontext> Launches::contexts() const {
  const std::lock_guard lock(mutex_);
  return {contexts_.begin(), contexts_.end()};
}

const KernelKey& Launches::key(uint32_t kernel) const {
  const std::lock_guard lock(mutex_);
  return *keys_[kernel];
}

}  // namespace xsp::cupti

#include "collectors/cupti/tracing.h"

#include <unistd.h>

#include <array>

#include "xsp/plugin.hpp"

namespace xsp::cupti {
namespace {

constexpr const char* kSource = "cupti";

// The run that receives CUPTI's buffers. It is global, because CUPTI's callbacks have no user
// argument.
std::atomic<Buffers*> current_buffers{nullptr};
std::atomic<const Functions*> current_functions{nullptr};
std::atomic<int> sessions{0};

constexpr std::array kKernelKinds = {
    // CUPTI_ACTIVITY_KIND_KERNEL is not used, because it serialises the kernels.
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
};
// Optional kinds: a version or a device may lack them.
constexpr std::array kApiKinds = {
    CUPTI_ACTIVITY_KIND_OVERHEAD,
    CUPTI_ACTIVITY_KIND_MEMORY2,
};
constexpr std::array kGraphEvents = {
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
};

bool is_held(CUptiResult result) {
  return result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
         result == CUPTI_ERROR_MAX_LIMIT_REACHED;
}

std::string holder() {
  const std::string who = other_clients();
  return who.empty() ? "another profiler in this process" : who;
}

const char* advice(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "not permitted: ask the administrator to set NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return "this kind of device cannot be traced: profile without the levels api and kernel";
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another profiler has the device: end it, then try again";
    default:
      return "use the CUPTI of the driver's own CUDA version";
  }
}

std::string refusal(const Library& library, const char* what, CUptiResult result) {
  if (is_held(result)) {
    return "CUPTI: " + std::string(what) + " cannot be recorded: " + holder() +
           " has it: switch that off, or profile without the level kernel";
  }
  return "CUPTI " + version_text(library.version()) + ": " + what + " cannot be recorded, " +
         library.error_text(result) + ": " + advice(result);
}

}  // namespace

std::string obstacle(const xsp_host* host, const Library& library) {
  const Functions& call = library.call();
  for (const std::string& line : defect_notes(library.version())) note(host, line);
  const CUptiResult result = call.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (result != CUPTI_SUCCESS) return refusal(library, "kernels", result);
  (void)call.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  return "";
}

Tracing::Tracing(const Library& library, const Driver& driver, uint32_t levels, uint32_t flush_ms)
    : library_(library),
      levels_(levels),
      flush_ms_(flush_ms),
      runtime_(library, CUPTI_CB_DOMAIN_RUNTIME_API),
      driver_calls_(library, CUPTI_CB_DOMAIN_DRIVER_API),
      records_(
          library, notes_, runtime_, driver_calls_,
          [&driver](uint32_t device) { return driver.limits(device); },
          (levels & XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)) != 0) {}

Tracing::~Tracing() { stop(); }

xsp_status Tracing::start(const xsp_host* host) {
  const Functions& call = library_.call();
  if (sessions.fetch_add(1) > 0 && library_.has(Defect::kGraphCorrelation)) {
    note(host, "CUPTI " + version_text(library_.version()) +
                   ": in the second recording of a process kernels of CUDA graphs may not find "
                   "their launch: use CUDA 13.1 Update 1 or newer");
  }
  buffers_ = std::make_unique<Buffers>(
      [this](uint8_t* bytes, size_t size) { records_.consume(bytes, size); },
      Flushing{std::chrono::milliseconds(flush_ms_),
               [&call] { (void)call.cuptiActivityFlushAll(0); }});
  current_functions = &call;
  current_buffers = buffers_.get();
  is_started_ = true;
  subscribe(host);
  if (call.cuptiActivitySetAttribute != nullptr) {
    uint8_t zeroed = 1;
    size_t size = sizeof zeroed;
    (void)call.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
                                         &zeroed);
  }
  // xsp identifies threads by the system's ids.
  if (call.cuptiSetThreadIdType != nullptr) {
    (void)call.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  }
  const char* what = "records";
  CUptiResult result = call.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  if (result == CUPTI_SUCCESS) result = enable_kinds(levels_, &what);
  if (result == CUPTI_SUCCESS && !records_.sample_clocks()) {
    what = "times";
    result = CUPTI_ERROR_UNKNOWN;
  }
  if (result == CUPTI_SUCCESS) return XSP_OK;
  const std::string why = is_held(result)
                              ? "CUPTI: " + std::string(what) + " cannot be recorded: " + holder() +
                                    " has it: switch that off, or profile without the level kernel"
                              : refusal(library_, what, result);
  stop();
  return fail(host, XSP_NOT_AVAILABLE, why);
}

void Tracing::stop() {
  if (!is_started_) return;
  is_started_ = false;
  const Functions& call = library_.call();
  // The first flush returns completed records; the second returns all others, when no more will
  // come.
  (void)call.cuptiActivityFlushAll(0);
  {
    const std::lock_guard lock(switching_);
    disable_kinds(enabled_);
  }
  (void)call.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  unsubscribe();
  // CUPTI stays initialised: cuptiFinalize is safe only while no thread is inside CUDA.
  buffers_->stop();
  records_.finish();
  size_t dropped = 0;
  if (call.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
    xsp_count_loss(kSource, "buffers full", dropped);
  }
  current_buffers = nullptr;
}

void CUPTIAPI Tracing::give_buffer(uint8_t** buffer, size_t* size, size_t* records_max) {
  Buffers* buffers = current_buffers;
  *buffer = buffers == nullptr ? nullptr : buffers->take();
  *size = *buffer == nullptr ? 0 : Buffers::kBytes;
  *records_max = 0;  // 0 means as many as fit
}

void CUPTIAPI Tracing::take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                                   size_t size) {
  Buffers* buffers = current_buffers;
  const Functions* functions = current_functions;
  if (buffers == nullptr || functions == nullptr || buffer == nullptr) return;
  size_t dropped = 0;
  if (functions->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    xsp_count_loss(kSource, "buffers full", dropped);
  }
  buffers->give(buffer, size);
}

void Tracing::subscribe(const xsp_host* host) {
  const Functions& call = library_.call();
  if (call.cuptiGetGraphNodeId == nullptr) {
    note(host, "CUPTI " + version_text(library_.version()) +
                   ": too old to tell the layers of CUDA graphs");
    return;
  }
  CUptiResult result = call.cuptiSubscribe(&subscriber_, resource_event, this);
  is_subscribed_ = result == CUPTI_SUCCESS;
  for (const CUpti_CallbackIdResource event : kGraphEvents) {
    if (result != CUPTI_SUCCESS) break;
    result = call.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, event);
  }
  if (result == CUPTI_SUCCESS) return;
  const std::string why =
      is_held(result) ? holder() + " has CUPTI's only subscription" : library_.error_text(result);
  note(host, "CUPTI: kernels of CUDA graphs get no layer: " + why +
                 ": all other kernels are not touched by this");
  unsubscribe();
}

void Tracing::unsubscribe() {
  if (is_subscribed_) (void)library_.call().cuptiUnsubscribe(subscriber_);
  is_subscribed_ = false;
}

void Tracing::set_levels(uint32_t levels) {
  const std::lock_guard lock(switching_);
  if (!is_started_) return;
  levels &= levels_;
  const char* what = "";
  const uint32_t ended = enabled_ & ~levels;
  if ((ended & XSP_LEVEL_BIT(XSP_LEVEL_API)) != 0) records_.pause_calls();
  disable_kinds(ended);
  if (enable_kinds(levels & ~enabled_, &what) != CUPTI_SUCCESS) {
    xsp_count_loss(kSource, "records could not be switched on again", 1);
  }
}

CUptiResult Tracing::enable_kinds(uint32_t levels, const char** what) {
  const Functions& call = library_.call();
  enabled_ |= levels;
  if ((levels & XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)) != 0) {
    *what = "kernels";
    for (const CUpti_ActivityKind kind : kKernelKinds) {
      const CUptiResult result = call.cuptiActivityEnable(kind);
      if (result != CUPTI_SUCCESS) return result;
    }
  }
  if ((levels & XSP_LEVEL_BIT(XSP_LEVEL_API)) == 0) return CUPTI_SUCCESS;
  *what = "calls of CUDA";
  CUptiResult result = runtime_.enable();
  if (result == CUPTI_SUCCESS) result = driver_calls_.enable();
  if (result != CUPTI_SUCCESS) return result;
  for (const CUpti_ActivityKind kind : kApiKinds) (void)call.cuptiActivityEnable(kind);
  return CUPTI_SUCCESS;
}

void Tracing::disable_kinds(uint32_t levels) {
  const Functions& call = library_.call();
  enabled_ &= ~levels;
  if ((levels & XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)) != 0) {
    for (const CUpti_ActivityKind kind : kKernelKinds) (void)call.cuptiActivityDisable(kind);
  }
  if ((levels & XSP_LEVEL_BIT(XSP_LEVEL_API)) == 0) return;
  runtime_.disable();
  driver_calls_.disable();
  for (const CUpti_ActivityKind kind : kApiKinds) (void)call.cuptiActivityDisable(kind);
}

void CUPTIAPI Tracing::resource_event(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                      const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || data == nullptr) return;
  const auto* resource = static_cast<const CUpti_ResourceData*>(data);
  if (resource->resourceDescriptor == nullptr) return;
  static_cast<Tracing*>(self)->on_graph(
      id, *static_cast<const CUpti_GraphData*>(resource->resourceDescriptor));
}

void Tracing::on_graph(CUpti_CallbackId id, const CUpti_GraphData& data) {
  const auto node_id = [&](CUgraphNode node, uint64_t* result) {
    return library_.call().cuptiGetGraphNodeId(node, result) == CUPTI_SUCCESS;
  };
  uint64_t node = 0;
  uint64_t original = 0;
  if (!node_id(data.node, &node)) return;
  const auto thread = static_cast<uint32_t>(gettid());
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED: {
      notes_.create(node, xsp_open_layer(), thread);
      uint64_t now_ns = 0;
      const bool has_calls = (levels_ & XSP_LEVEL_BIT(XSP_LEVEL_API)) != 0;
      if (has_calls && library_.call().cuptiGetTimestamp(&now_ns) == CUPTI_SUCCESS) {
        notes_.capture(thread, now_ns);
      }
      return;
    }
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      if (node_id(data.originalNode, &original)) notes_.copy(original, node, thread);
      return;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      return notes_.destroy(node);
    default:
      return;
  }
}

}  // namespace xsp::cupti

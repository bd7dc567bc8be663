#include <time.h>

#include <array>
#include <cstring>

#include "collectors/cupti/fake/control.h"

namespace fake = xsp::cupti::fake;

namespace {

fake::Control& control() {
  static fake::Control the_control;
  return the_control;
}

constexpr std::array kRuntimeNames = {"",
                                      "cudaGetDevice_v3020",
                                      "cudaLaunchKernel_v7000",
                                      "cudaMemcpyAsync_ptsz_v7000",
                                      "cudaMalloc_v3020",
                                      "cudaGraphLaunch_v10000",
                                      "cudaDeviceSynchronize_v3020",
                                      "cudaFree_v3020"};
constexpr std::array kDriverNames = {"", "cuCtxGetCurrent", "cuLaunchKernel", "cuMemAlloc_v2"};
static_assert(kRuntimeNames.size() == fake::kRuntimeEnd);
static_assert(kDriverNames.size() == fake::kDriverEnd);

size_t record_size(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    default:
      return 0;
  }
}

void give_back(fake::Control* c) {
  if (c->buffer == nullptr) return;
  uint8_t* buffer = c->buffer;
  c->buffer = nullptr;
  c->complete(nullptr, 0, buffer, c->capacity, c->used);
}

void append(fake::Control* c, const void* record, size_t size) {
  if (c->buffer != nullptr && c->used + size > c->capacity) give_back(c);
  if (c->buffer == nullptr) {
    size_t records_max = 0;
    c->used = 0;
    c->request(&c->buffer, &c->capacity, &records_max);
    if (c->buffer == nullptr) {
      ++c->dropped;
      return;
    }
  }
  std::memcpy(c->buffer + c->used, record, size);
  c->used += size;
}

void fire(fake::Control* c, CUpti_CallbackIdResource event, uint64_t node, uint64_t original) {
  if (!c->is_subscribed || c->resource_events.count(event) == 0) return;
  CUpti_GraphData graph{};
  graph.node = reinterpret_cast<CUgraphNode>(node);
  graph.originalNode = reinterpret_cast<CUgraphNode>(original);
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph;
  c->callback(c->user, CUPTI_CB_DOMAIN_RESOURCE, event, &data);
}

uint64_t now(fake::Control* c) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec * 1'000'000'000 + time.tv_nsec + c->clock_ahead_ns);
}

[[maybe_unused]] CUptiResult enable_call(CUpti_CallbackDomain domain, uint32_t id, uint8_t enable) {
  if (control().unknown.count({domain, id}) != 0) return CUPTI_ERROR_INVALID_PARAMETER;
  if (enable != 0) {
    control().calls.insert({domain, id});
  } else {
    control().calls.erase({domain, id});
  }
  return CUPTI_SUCCESS;
}

}  // namespace

#define FAKE_API __attribute__((visibility("default")))

extern "C" {

FAKE_API fake::Control* fake_cupti_control() {
  fake::Control& c = control();
  c.append = append;
  c.fire = fire;
  c.give_back = give_back;
  c.now = now;
  return &c;
}

FAKE_API CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = control().version;
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                        : "CUPTI_ERROR_OF_THE_FAKE";
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiGetTimestamp(uint64_t* time) {
  *time = now(&control());
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback,
                                    void* user) {
  fake::Control& c = control();
  if (c.subscribe_result != CUPTI_SUCCESS) return c.subscribe_result;
  if (c.is_subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  c.callback = callback;
  c.user = user;
  c.is_subscribed = true;
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  control().is_subscribed = false;
  control().resource_events.clear();
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) control().resource_events.insert(id);
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id,
                                          const char** name) {
  const bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  if (id >= (is_driver ? kDriverNames.size() : kRuntimeNames.size())) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *name = is_driver ? kDriverNames[id] : kRuntimeNames[id];
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const auto refused = control().refused.find(kind);
  if (refused != control().refused.end()) return refused->second;
  control().kinds.insert(kind);
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  control().kinds.erase(kind);
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  control().request = request;
  control().complete = complete;
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityFlushAll(uint32_t) {
  give_back(&control());
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = control().dropped;
  control().dropped = 0;
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t size,
                                                CUpti_Activity** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) {
    next = reinterpret_cast<uint8_t*>(*record) + record_size((*record)->kind);
  }
  if (next >= buffer + size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return record_size((*record)->kind) != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

#ifndef FAKE_OLD  // old versions lack these
FAKE_API CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  return enable_call(CUPTI_CB_DOMAIN_RUNTIME_API, id, enable);
}
FAKE_API CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  return enable_call(CUPTI_CB_DOMAIN_DRIVER_API, id, enable);
}
FAKE_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) {
  return CUPTI_SUCCESS;
}
FAKE_API CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  *id = reinterpret_cast<uint64_t>(node);
  return CUPTI_SUCCESS;
}
FAKE_API CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  control().has_system_threads = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return CUPTI_SUCCESS;
}
#endif

}  // extern "C"

// A fake CUPTI that does what a test tells it: libcupti.so.13 with the functions that library.h
// looks up, and one more that returns this control. fake/driver.cc is the CUDA driver beside it.
#ifndef XSP_COLLECTORS_CUPTI_FAKE_CONTROL_H_
#define XSP_COLLECTORS_CUPTI_FAKE_CONTROL_H_

#include <cupti.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace xsp::cupti::fake {

// Lists ids of the fake's calls, in the domains of the runtime and of the driver.
enum RuntimeId : uint32_t {
  kGetDevice = 1,
  kLaunchKernel,
  kMemcpyAsync,
  kMalloc,
  kGraphLaunch,
  kDeviceSynchronize,
  kFree,
  kRuntimeEnd
};
enum DriverId : uint32_t { kCtxGetCurrent = 1, kDriverLaunchKernel, kDriverMemAlloc, kDriverEnd };

struct Control {
  uint32_t version = 130001;
  CUptiResult subscribe_result = CUPTI_SUCCESS;
  std::map<CUpti_ActivityKind, CUptiResult> refused;  // result of enabling a kind, if not success
  std::set<std::pair<CUpti_CallbackDomain, uint32_t>> unknown;  // calls that cannot be enabled
  int64_t clock_ahead_ns = 0;                                   // ahead of CLOCK_REALTIME
  size_t dropped = 0;  // number of dropped records that the next query returns

  // The collector's actions.
  std::set<CUpti_ActivityKind> kinds;
  std::set<std::pair<CUpti_CallbackDomain, uint32_t>> calls;
  std::set<uint32_t> resource_events;
  bool is_subscribed = false;
  bool has_system_threads = false;

  // Appends a record to the buffer in use, and asks for a buffer if there is none.
  template <typename Record>
  void play(const Record& record) {
    append(this, &record, sizeof record);
  }
  // Issues a callback of the domain resource.
  void play_event(CUpti_CallbackIdResource event, uint64_t node, uint64_t original = 0) {
    fire(this, event, node, original);
  }
  // Returns the buffer in use, as if it were full.
  void hand_back() { give_back(this); }
  uint64_t now_ns() { return now(this); }

  // Functions of the fake library.
  void (*append)(Control*, const void* record, size_t size) = nullptr;
  void (*fire)(Control*, CUpti_CallbackIdResource, uint64_t node, uint64_t original) = nullptr;
  void (*give_back)(Control*) = nullptr;
  uint64_t (*now)(Control*) = nullptr;

  CUpti_CallbackFunc callback = nullptr;
  void* user = nullptr;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  uint8_t* buffer = nullptr;
  size_t capacity = 0;
  size_t used = 0;
};

}  // namespace xsp::cupti::fake

// Declares the symbol of the fake library: Control* fake_cupti_control().
extern "C" xsp::cupti::fake::Control* fake_cupti_control();

#endif  // XSP_COLLECTORS_CUPTI_FAKE_CONTROL_H_

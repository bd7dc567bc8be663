// Receives torch's reports of allocations on the thread that runs the model.
//
// Allocations are recorded in the first three measured inferences alone: they cost 29 us of 1430 in
// each (ResNet-50, H200), and the inferences of a model allocate the same again and again. The
// worker tells the adapter which these are (record_details in plugin.h), because only the worker
// knows when the warm-up is over; analyses of memory take the first inference that has any.
// Refused: the first inferences of all, in which libraries take memory for themselves, and every
// n-th, which a short run may not reach.
#ifndef XSP_ADAPTERS_TORCH_MEMORY_H_
#define XSP_ADAPTERS_TORCH_MEMORY_H_

#include <c10/core/Allocator.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "xsp/plugin.h"

namespace xsp::torch_adapter {

class Memory : public c10::MemoryReportingInfoBase {
 public:
  // With `spans`, allocations and releases can be recorded.
  explicit Memory(bool spans);

  // Enables or disables spans of level api and type memory for each allocation and release.
  void record(bool on) { records_.store(on && spans_, std::memory_order_relaxed); }

  // Enables or disables the sums of allocations: torch asks before it reports one.
  void count(bool on) { counts_.store(on, std::memory_order_relaxed); }
  // Assigns this thread's allocations from now on to a new layer.
  static void begin_layer();
  // Returns the bytes of this thread's allocations since the layer began that have not been
  // released. Releases of older memory are not subtracted.
  static int64_t held();
  // Returns whether an allocation has failed since the last call.
  bool take_failure() { return failed_.exchange(false); }

  bool memoryProfilingEnabled() const override {
    return records_.load(std::memory_order_relaxed) || counts_.load(std::memory_order_relaxed);
  }
  // Versions of torch differ in the type of the totals: one of each pair overrides.
  void reportMemoryUsage(void* memory, int64_t bytes, int64_t total, int64_t, c10::Device device) {
    report(memory, bytes, static_cast<double>(total), device);
  }
  void reportMemoryUsage(void* memory, int64_t bytes, size_t total, size_t, c10::Device device) {
    report(memory, bytes, static_cast<double>(total), device);
  }
  void reportOutOfMemory(int64_t, int64_t, int64_t, c10::Device) { failed_.store(true); }
  void reportOutOfMemory(int64_t, size_t, size_t, c10::Device) { failed_.store(true); }

 private:
  void report(const void* memory, int64_t bytes, double total, c10::Device device);
  uint32_t site(bool is_release, c10::Device device);

  static constexpr size_t kDevices = 65;  // the host, and GPUs
  const bool spans_;
  uint32_t bytes_key_ = 0;
  uint32_t total_key_ = 0;
  std::atomic<bool> records_{false};
  std::atomic<bool> counts_{false};
  std::atomic<bool> failed_{false};
  std::array<std::atomic<uint32_t>, 2 * kDevices> sites_{};  // for allocations, then for releases
};

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_MEMORY_H_

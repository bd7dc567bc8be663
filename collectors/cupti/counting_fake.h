// A fake CUPTI profiler and a fake driver for tests of counting. They know a few metrics, and count
// the kernels that the test launches. In the n-th range of a session every metric has the value
// 1000 * (n + 1) + its index among the requested ones.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_FAKE_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_FAKE_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "collectors/cupti/counting_api.h"

namespace xsp::cupti {

struct FakeProfiler {
  std::set<std::string> metrics = {"dram__bytes_read.sum", "dram__bytes_write.sum",
                                   "gpu__time_duration.sum"};
  size_t passes = 3;
  CUptiResult enable_result = CUPTI_SUCCESS;
  CUptiResult subscribe_result = CUPTI_SUCCESS;
  bool is_capturing = false;
  CUresult launch_result = CUDA_SUCCESS;

  // State that the code under test has set.
  int enabled = 0;
  int disabled = 0;
  bool is_running = false;
  size_t taken = 0;        // passes since the configuration
  size_t executed = 0;     // kernels in the present pass
  size_t capacity = 0;     // room for ranges
  size_t ranges = 0;       // ranges of the first pass
  size_t first_range = 0;  // numbers in names continue across sessions
  size_t pushed = 0;       // ranges that the test itself pushed
  CUpti_ProfilerReplayMode mode = CUPTI_Replay_INVALID;
  CUpti_ProfilerRange scope = CUPTI_Range_INVALID;
  std::vector<std::string> configured;
  CUpti_CallbackFunc on_event = nullptr;
  void* user = nullptr;

  // Resets the state above and the functions that act on it.
  static FakeProfiler& reset();
  static FakeProfiler& get();
  static CountingApi api();
  // Returns the context that launches come from.
  static CUcontext context();

  // Launches a kernel through the runtime, on the calling thread.
  void launch(const char* kernel, unsigned grid);
  void launch_graph();
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_FAKE_H_

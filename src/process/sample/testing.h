// Helpers for this folder's tests: threads to look at, and a thread that looks.
#ifndef XSP_PROCESS_SAMPLE_TESTING_H_
#define XSP_PROCESS_SAMPLE_TESTING_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "process/sample/own_files.h"
#include "process/sample/threads.h"

namespace xsp::process {

// The reason why a test is skipped, for example under an emulator of another processor, whose
// threads are not the program's.
inline constexpr const char* kNotHere = "process_vm_readv is refused here: stacks are not sampled";

// A thread that runs until it is told to end.
class Worker {
 public:
  explicit Worker(const std::function<void(const std::atomic<bool>&)>& work)
      : thread_([this, work] {
          tid_ = gettid();
          work(ends_);
        }) {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Worker() {
    ends_ = true;
    thread_.join();
  }
  int32_t tid() const { return tid_; }

 private:
  std::atomic<bool> ends_{false};
  std::atomic<int32_t> tid_{0};
  std::thread thread_;
};

// Looks from a thread with files of its own, as the sampler does.
template <typename Work>
void from_elsewhere(const Work& work) {
  std::thread([&work] {
    ASSERT_TRUE(own_files());
    work();
  }).join();
}

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_TESTING_H_

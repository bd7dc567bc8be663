// planted: rule=threads, culprit=wait|worker|spin, device=cpu
// cause: idle workers spin until there is work, and take the cores from the thread that has some.
// bound: the time in which the working thread is kept off its core, about nine tenths of a step.
// Filters a signal in a pipeline of stages, each with a thread of its own.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr int kCount = 1 << 18;

class Pipeline {
 public:
  Pipeline(int stages, bool is_mended)
      : stages_(stages), is_mended_(is_mended), signal_(kCount, 1) {
    for (int i = 0; i < stages; ++i) workers_.emplace_back(&Pipeline::worker, this, i);
  }
  ~Pipeline() {
    hand_to(kEnd);
    for (std::thread& one : workers_) one.join();
  }
  // Runs through all stages, one after the other.
  void run() {
    hand_to(0);
    wait(stages_);
  }

 private:
  static constexpr int kEnd = -1;

  void hand_to(int stage) {
    const std::lock_guard<std::mutex> lock(mutex_);
    turn_ = stage;
    changed_.notify_all();
  }
  bool wait(int stage) {
    if (is_mended_) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return turn_ == stage || turn_ == kEnd; });
    } else {
      while (turn_ != stage && turn_ != kEnd) {
      }
    }
    return turn_ != kEnd;
  }
  void worker(int stage) {
    while (wait(stage)) {
      for (int i = 1; i < kCount; ++i) signal_[i] = 0.5f * signal_[i] + 0.5f * signal_[i - 1];
      hand_to(stage + 1);
    }
  }

  const int stages_;
  const bool is_mended_;
  std::vector<float> signal_;
  std::atomic<int> turn_{-2};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> workers_;
};

}  // namespace

int main(int argc, char** argv) {
  const planted::Options options(argc, argv);
  Pipeline pipeline(2 * std::max(2u, std::thread::hardware_concurrency()), options.is_mended);
  planted::repeat(options, [&] { pipeline.run(); });
}

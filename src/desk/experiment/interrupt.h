// Interrupts: counts Ctrl-C, and a batch system's request to end, instead of ending the process.
#ifndef XSP_DESK_EXPERIMENT_INTERRUPT_H_
#define XSP_DESK_EXPERIMENT_INTERRUPT_H_

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace xsp::experiment {

// Counts SIGINT and SIGTERM while it exists. Only one may exist at a time. Several signals in quick
// succession count as one, because some tools signal a process and then its group. A reader of our
// messages that has gone (| head) ends no measurement: nobody reads the messages that follow.
class Interrupts {
 public:
  Interrupts() {
    count_ = 0;
    last_ms_ = -kApartMs;
    struct sigaction action {};
    action.sa_handler = count_one;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &old_int_);  // without SA_RESTART: a pending wait ends
    ::sigaction(SIGTERM, &action, &old_term_);
    // A handler, because started programs do not inherit handlers.
    ::sigaction(SIGPIPE, nullptr, &old_pipe_);
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    if (old_pipe_.sa_handler == SIG_DFL) ::sigaction(SIGPIPE, &action, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
    ::sigaction(SIGPIPE, &old_pipe_, nullptr);
  }
  const std::atomic<int>& count() const { return count_; }

 private:
  static constexpr int64_t kApartMs = 300;

  // Runs in the signal handler, so it makes only async-signal-safe calls.
  static void count_one(int) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t now_ms = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
    if (now_ms - last_ms_.load(std::memory_order_relaxed) < kApartMs) return;
    last_ms_.store(now_ms, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
  }

  static inline std::atomic<int> count_ = 0;
  static inline std::atomic<int64_t> last_ms_ = -kApartMs;
  static_assert(std::atomic<int64_t>::is_always_lock_free);
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
  struct sigaction old_pipe_ {};
};

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_INTERRUPT_H_

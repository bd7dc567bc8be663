// Interrupts: Ctrl-C, and the request of a batch system to end, as a count instead of a death.
#ifndef XSP_EVALUATE_INTERRUPT_H_
#define XSP_EVALUATE_INTERRUPT_H_

#include <signal.h>

#include <atomic>

namespace xsp::evaluate {

// While one lives, SIGINT and SIGTERM are counted. One at a time.
class Interrupts {
 public:
  Interrupts() {
    count_ = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { count_.fetch_add(1, std::memory_order_relaxed); };
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &old_int_);  // without SA_RESTART: a wait in progress ends
    ::sigaction(SIGTERM, &action, &old_term_);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
  }
  const std::atomic<int>& count() const { return count_; }

 private:
  static inline std::atomic<int> count_ = 0;
  static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler uses it
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_INTERRUPT_H_

// Interrupt: ends a load early when the parent asks for it by SIGINT.
//
// A worker ignores SIGINT but for the time of a load, so that what was answered so far is kept.
//
// Thread rule: the callback runs on a thread of its own, at most once.
#ifndef XSP_PROCESS_LOAD_INTERRUPT_H_
#define XSP_PROCESS_LOAD_INTERRUPT_H_

#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

namespace xsp::process {

// Only one may exist at a time.
class Interrupt {
 public:
  explicit Interrupt(std::function<void()> on_interrupt) : on_interrupt_(std::move(on_interrupt)) {
    ::sem_init(&came_, 0, 0);
    thread_ = std::thread([this] {
      while (::sem_wait(&came_) != 0) {  // another signal ended the wait
      }
      if (!is_over_) on_interrupt_();
    });
    struct sigaction action {};
    action.sa_handler = [](int) { ::sem_post(&came_); };
    ::sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;  // no call of the framework fails because of it
    ::sigaction(SIGINT, &action, &old_);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() {
    ::sigaction(SIGINT, &old_, nullptr);
    is_over_ = true;
    ::sem_post(&came_);
    thread_.join();
  }

 private:
  // It is never destroyed, because a handler may still be about to post to it.
  static inline sem_t came_;
  std::function<void()> on_interrupt_;
  std::atomic<bool> is_over_ = false;
  struct sigaction old_ {};
  std::thread thread_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_INTERRUPT_H_

// A thread that belongs to a model.
#ifndef XSP_ADAPTERS_FAKE_HELPER_H_
#define XSP_ADAPTERS_FAKE_HELPER_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace xsp::fake {

// Represents a thread like those in frameworks' pools. run() hands it a function and waits until it
// returns.
class Helper {
 public:
  Helper() : thread_([this] { loop(); }) {}
  ~Helper() {
    set(Work{nullptr, true});
    thread_.join();
  }
  void run(const std::function<void()>& function) {
    set(Work{&function, false});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.function == nullptr; });
  }

 private:
  struct Work {
    const std::function<void()>* function = nullptr;
    bool is_last = false;
  };
  void set(Work work) {
    const std::lock_guard lock(mutex_);
    work_ = work;
    changed_.notify_all();
  }
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return work_.function != nullptr || work_.is_last; });
      if (work_.is_last) return;
      lock.unlock();
      (*work_.function)();
      lock.lock();
      work_.function = nullptr;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  Work work_;
  std::thread thread_;
};

}  // namespace xsp::fake

#endif  // XSP_ADAPTERS_FAKE_HELPER_H_

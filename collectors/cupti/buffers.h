// The buffers that CUPTI fills with records, and the thread that empties them.
//
// CUPTI asks for a buffer on a thread of the program, so some buffers are always ready, with their
// pages touched. It returns full buffers on any thread; there the buffer is only queued. Memory is
// bounded: while all buffers are in use, `take` returns none, and CUPTI drops records and counts
// them.
//
// A buffer has 4 MiB, and there are at most 64.
#ifndef XSP_COLLECTORS_CUPTI_BUFFERS_H_
#define XSP_COLLECTORS_CUPTI_BUFFERS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace xsp::cupti {

// Determines how often CUPTI returns its buffers, full or not; never if the period is 0. A flush
// slows the program down, so it happens less often where it takes long.
struct Flushing {
  static constexpr int kShare = 400;  // a flush may take one part in kShare of the time
  static constexpr std::chrono::milliseconds kLongest{1000};
  std::chrono::milliseconds period{0};
  std::function<void()> flush;
};

class Buffers {
 public:
  static constexpr size_t kBytes = 4u << 20;  // bytes of each: 20,000 kernels, or 80,000 calls
  static constexpr size_t kReady = 4;         // buffers kept ready
  static constexpr size_t kMax = 40;

  // Called with the records of each buffer, on the thread that empties them.
  using Consume = std::function<void(uint8_t* bytes, size_t size)>;

  explicit Buffers(Consume consume, Flushing flushing = {}, size_t buffers_max = kMax);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Returns a buffer of kBytes zeros, or null if all are in use. Any thread.
  uint8_t* take();
  // Returns a taken buffer, with `size` bytes of it filled. Any thread.
  void give(uint8_t* buffer, size_t size);
  // Returns after all given buffers have been consumed. The thread ends; from then on `take`
  // returns null.
  void stop();

 private:
  struct Filled {
    uint8_t* buffer;
    size_t size;
  };

  void work();
  // The caller holds the lock. Returns null if there is no memory.
  uint8_t* allocate();
  bool wants_more() const;
  // Waits until something changes, or until it is time to flush, and then flushes.
  void wait(std::unique_lock<std::mutex>* lock);
  // Allocates until enough buffers are ready; releases the lock for the longest part of it.
  void refill(std::unique_lock<std::mutex>* lock);

  const Consume consume_;
  const Flushing flushing_;
  std::chrono::steady_clock::time_point next_flush_;
  const size_t buffers_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint8_t*> ready_;
  size_t allocated_ = 0;
  std::deque<Filled> filled_;
  bool is_exhausted_ = false;  // there is no more memory
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_BUFFERS_H_

// Buffers that CUPTI fills with records, and the thread that empties them.
//
// CUPTI asks for a buffer on a thread of the program, so there are always some ready, their pages
// touched; it hands back what is full on whatever thread it likes, and all that happens there is
// that the buffer is queued. Memory is bounded: with every buffer in use `take` gives none, and
// CUPTI drops records and counts them.
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

// Has CUPTI hand back its buffers now and then, full or not; never if the period is 0. What the
// program does meanwhile is slower, so that where it takes long it is done less often.
struct Flushing {
  static constexpr int kShare = 400;  // of the time, one part in so many
  static constexpr std::chrono::milliseconds kLongest{1000};
  std::chrono::milliseconds period{0};
  std::function<void()> flush;
};

class Buffers {
 public:
  static constexpr size_t kBytes = 4u << 20;  // of each: 20,000 kernels, or 80,000 calls
  static constexpr size_t kReady = 4;         // kept ready
  static constexpr size_t kMax = 40;

  // What is called with the records of each buffer, on the thread that empties them.
  using Consume = std::function<void(uint8_t* bytes, size_t size)>;

  explicit Buffers(Consume consume, Flushing flushing = {}, size_t buffers_max = kMax);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // A buffer of kBytes zeros; null if all are in use. Any thread.
  uint8_t* take();
  // A buffer that was taken, `size` bytes of it filled. Any thread.
  void give(uint8_t* buffer, size_t size);
  // Returns when all that was given has been consumed. The thread ends; `take` gives none any more.
  void stop();

 private:
  struct Filled {
    uint8_t* buffer;
    size_t size;
  };

  void work();
  // Call it with the lock held. Null if there is no memory.
  uint8_t* allocate();
  bool wants_more() const;
  // Until something changes, or it is time to flush, which it then does.
  void wait(std::unique_lock<std::mutex>* lock);
  // Allocates until enough are ready, without the lock for the longest part of it.
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
  bool is_exhausted_ = false;  // no more memory
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_BUFFERS_H_

#include "collectors/cupti/buffers.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace xsp::cupti {

Buffers::Buffers(Consume consume, Flushing flushing, size_t buffers_max)
    : consume_(std::move(consume)),
      flushing_(std::move(flushing)),
      next_flush_(std::chrono::steady_clock::now() + flushing_.period),
      buffers_max_(buffers_max) {
  ready_.reserve(buffers_max_);
  {
    std::unique_lock lock(mutex_);
    refill(&lock);
  }
  // This thread blocks all signals: they are for the program's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "xsp-cupti");
}

Buffers::~Buffers() {
  stop();
  // A buffer that CUPTI did not return may still be written to, so it is not unmapped.
  for (uint8_t* buffer : ready_) munmap(buffer, kBytes);
}

uint8_t* Buffers::take() {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return nullptr;
  changed_.notify_one();
  if (!ready_.empty()) {
    uint8_t* buffer = ready_.back();
    ready_.pop_back();
    return buffer;
  }
  // Several threads may have asked at once. Writing to the pages makes the system provide them.
  if (allocated_ == buffers_max_) return nullptr;
  return allocate();
}

void Buffers::give(uint8_t* buffer, size_t size) {
  const std::lock_guard lock(mutex_);
  filled_.push_back({buffer, size});
  changed_.notify_one();
}

void Buffers::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

uint8_t* Buffers::allocate() {
  void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  ++allocated_;
  return static_cast<uint8_t*>(at);
}

bool Buffers::wants_more() const {
  return ready_.size() < kReady && allocated_ < buffers_max_ && !is_exhausted_;
}

void Buffers::refill(std::unique_lock<std::mutex>* lock) {
  while (wants_more()) {
    uint8_t* buffer = allocate();
    is_exhausted_ = buffer == nullptr;
    if (is_exhausted_) return;
    // Touching the pages takes a while; other threads may take and give buffers meanwhile.
    lock->unlock();
    madvise(buffer, kBytes, MADV_POPULATE_WRITE);
    lock->lock();
    ready_.push_back(buffer);
  }
}

void Buffers::wait(std::unique_lock<std::mutex>* lock) {
  if (flushing_.period.count() == 0) return changed_.wait(*lock);
  if (changed_.wait_until(*lock, next_flush_) == std::cv_status::no_timeout || is_stopping_) return;
  // CUPTI returns buffers from within this call.
  lock->unlock();
  const auto began = std::chrono::steady_clock::now();
  flushing_.flush();
  lock->lock();
  using Time = std::chrono::steady_clock::duration;
  const auto ended = std::chrono::steady_clock::now();
  const Time pause = std::min<Time>((ended - began) * Flushing::kShare, Flushing::kLongest);
  next_flush_ = ended + std::max<Time>(pause, flushing_.period);
}

void Buffers::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    // A returned buffer is used again before more memory is allocated.
    if (!filled_.empty()) {
      const Filled filled = filled_.front();
      filled_.pop_front();
      lock.unlock();
      consume_(filled.buffer, filled.size);
      std::memset(filled.buffer, 0, filled.size);
      lock.lock();
      ready_.push_back(filled.buffer);
      continue;
    }
    if (is_stopping_) return;
    refill(&lock);
    if (!filled_.empty() || is_stopping_) continue;
    if (!wants_more()) wait(&lock);
  }
}

}  // namespace xsp::cupti

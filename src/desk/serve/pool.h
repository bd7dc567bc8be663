// Pool: connections to a catalogue, which several threads share. Each has one thread at a time.
//
// Connections are opened when they are needed. One whose use fails is closed, and the use is tried
// once more with a new one: a server that was restarted costs no answer. The reason of a failure
// may tell of this machine's paths and hosts, so it goes to the standard error, and not to the
// client.
#ifndef XSP_DESK_SERVE_POOL_H_
#define XSP_DESK_SERVE_POOL_H_

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/result.h"

namespace xsp::serve {

template <typename Connection>
class Pool {
 public:
  using Open = std::function<Result<Connection>()>;
  // Opens at most `most` connections at a time.
  Pool(Open open, size_t most) : open_(std::move(open)), left_(most) {}

  // Calls `work` with a connection. Returns Code::kInterrupted if others have all of them for
  // kTurn. `work` must give the same result if it runs twice.
  static constexpr std::chrono::seconds kTurn{20};
  template <typename T>
  Result<T> use(const std::function<Result<T>(Connection&)>& work) {
    const Turn turn(*this);
    if (!turn.is_mine) {
      return Error{Code::kInterrupted, "catalogue: others use it: ask again later"};
    }
    std::optional<Connection> one = take();
    if (one) {
      Result<T> result = work(*one);
      if (result.ok() || result.error().code != Code::kFailed) {
        give(std::move(*one));
        return result;
      }
    }
    auto opened = open_();
    if (!opened.ok()) return silent(opened.error());
    Result<T> result = work(*opened);
    if (!result.ok() && result.error().code == Code::kFailed) return silent(result.error());
    give(std::move(*opened));
    return result;
  }

 private:
  static Error silent(const Error& why) {
    std::fprintf(stderr, "catalogue: %s\n", why.text.c_str());
    return {Code::kInterrupted, "catalogue: it does not answer: ask again later"};
  }

  // The permission to have a connection.
  struct Turn {
    explicit Turn(Pool& given) : pool(given) {
      std::unique_lock lock(pool.mutex_);
      is_mine = pool.free_.wait_for(lock, kTurn, [&] { return pool.left_ > 0; });
      if (is_mine) --pool.left_;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (!is_mine) return;
      const std::lock_guard lock(pool.mutex_);
      ++pool.left_;
      pool.free_.notify_one();
    }
    Pool& pool;
    bool is_mine = false;
  };

  std::optional<Connection> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::nullopt;
    std::optional<Connection> one(std::move(idle_.back()));
    idle_.pop_back();
    return one;
  }
  void give(Connection one) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(one));
  }

  Open open_;
  std::mutex mutex_;  // guards the following
  std::condition_variable free_;
  size_t left_;
  std::vector<Connection> idle_;
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_POOL_H_

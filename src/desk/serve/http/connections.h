// Connections: the clients of a listening socket. One thread waits for all of them. A worker thread
// receives a request when its head is complete, and returns the answer without waiting for the
// client to take it. So a client that sends or receives slowly costs a socket and a buffer, and
// never a thread; only a client that sends a body (see Exchange::expect_body) occupies a thread.
//
//            head is complete          answered                 taken
//   reading ---------------> working ----------> writing ---------------> reading, or leaving
//
// Every state but `working` has a deadline, which arriving bytes do not extend. If there are too
// many connections, a new one replaces the one that has been waiting for the longest time.
//
// This file knows no HTTP, except where a head ends and four answers that are always the same.
#ifndef XSP_DESK_SERVE_HTTP_CONNECTIONS_H_
#define XSP_DESK_SERVE_HTTP_CONNECTIONS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::serve {

struct Limits {
  size_t connections = 512;      // or half of the files that the process may open, if that is less
  size_t threads = 32;           // requests that are answered at a time
  size_t queue = 256;            // requests that wait for a thread; further ones get 429
  size_t head_bytes = 32 << 10;  // a longer head of a request gets 431
  size_t untaken_bytes = size_t{256} << 20;  // bytes of answers that clients have not taken yet
  std::chrono::milliseconds head{10'000};    // for a complete head of a request; else 408
  std::chrono::milliseconds idle{30'000};    // between two requests
  std::chrono::milliseconds body{10'000};    // for a body, or an answer to be taken; plus
  size_t bytes_per_second = 64 << 10;        // one second for this many bytes of it
  std::chrono::milliseconds leave{2'000};    // for a client to close an ended connection
};

struct Connection;

// Represents one request, for the thread that answers it.
class Exchange {
 public:
  Exchange(Connection& connection, const Limits& limits);

  // Reads the next bytes of the request's head, and of its body if one is expected. Returns 0 at
  // the end, and -1 if the client hung up or was too slow.
  ptrdiff_t read(char* to, size_t size);
  // Lets read() wait for the bytes behind the head.
  void expect_body();
  // Returns the client's address, without its port.
  const std::string& address() const;
  // Appends bytes of the answer.
  void write(std::string_view bytes);

 private:
  bool wait(short events) const;
  bool flush();

  Connection& connection_;
  const Limits& limits_;
  size_t at_ = 0;  // position in connection_.input
  bool expects_body_ = false;
  std::chrono::steady_clock::time_point begin_;
  size_t received_ = 0;
};

class Connections {
 public:
  // Answers one request. Returns true if the connection may be used for another. Several threads
  // call it.
  using Answerer = std::function<bool(Exchange&)>;

  // `listener` belongs to the caller, who closes it after run().
  Connections(const Limits& limits, Answerer answerer);
  ~Connections();

  // Returns after stop(): requests that are being answered are finished, others are dropped.
  Status run(int listener);
  // Any thread, at any time.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  void serve(int listener);
  void accept_all(int listener);
  void make_room();
  void read(Connection& one);
  void look(Connection& one);
  void settle(Connection& one);
  void write(Connection& one);
  void leave(Connection& one);
  void drain(Connection& one);
  void say(Connection& one, std::string answer);
  void expire(Connection& one);
  void bound_untaken();
  void give_memory_back();
  Clock::time_point time_for(size_t bytes) const;

  Limits limits_;
  Answerer answerer_;
  std::list<Connection> all_;  // run()'s thread owns these, except those in state working
  int wake_ = -1;              // an eventfd: an answer is ready, or run() must stop
  std::atomic<bool> is_stopping_{false};
  std::atomic<int64_t> given_back_{0};  // when memory was given back, in the clock's ticks
  std::mutex mutex_;                    // guards the following members
  std::condition_variable waiting_;
  std::deque<Connection*> queue_;
  std::vector<Connection*> done_;
};

}  // namespace xsp::serve

#endif  // XSP_DESK_SERVE_HTTP_CONNECTIONS_H_

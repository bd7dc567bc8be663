// Connections: the clients of a listening socket. One thread waits for all of them; a thread of
// work is given a request when its head is whole, and gives the answer back without waiting for the
// client to take it. So a client that is slow to ask or to listen costs a socket and a buffer, and
// never a thread; only one that sends a body (see Exchange::expect_body) keeps one.
//
//            head is whole            answered                 taken
//   reading ---------------> working ----------> writing ---------------> reading, or leaving
//
// Every state but `working` has a deadline, which no piece that comes moves. Where there are too
// many connections, a new one takes the place of the one that has been waited for the longest.
//
// No HTTP in it, but for where a head ends and four answers that are the same whatever is asked.
#ifndef XSP_SERVE_CONNECTIONS_H_
#define XSP_SERVE_CONNECTIONS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xsp::serve {

struct Limits {
  size_t connections = 512;      // or half of the files that the process may open, if that is less
  size_t threads = 32;           // requests that are answered at a time
  size_t queue = 256;            // requests that wait for a thread: others are answered with 429
  size_t head_bytes = 32 << 10;  // a request's head: others are answered with 431
  size_t untaken_bytes = size_t{256} << 20;  // answers that clients have yet to take
  std::chrono::milliseconds head{10'000};    // for a request to be whole: else 408
  std::chrono::milliseconds idle{30'000};    // between two requests
  std::chrono::milliseconds body{10'000};    // for a body, or an answer to be taken; and
  size_t bytes_per_second = 64 << 10;        // a second more for so many bytes of it
  std::chrono::milliseconds leave{2'000};    // for a client to close what was ended
};

struct Connection;

// One request, for the thread that answers it.
class Exchange {
 public:
  Exchange(Connection& connection, const Limits& limits);

  // The next bytes of the request's head, and of its body if one is expected. 0 at the end; -1
  // where the client hung up or was too slow.
  ptrdiff_t read(char* to, size_t size);
  // What follows the head may be waited for.
  void expect_body();
  // Bytes of the answer.
  void write(std::string_view bytes);

 private:
  bool wait(short events) const;
  bool flush();

  Connection& connection_;
  const Limits& limits_;
  size_t at_ = 0;  // of connection_.input
  bool expects_body_ = false;
  std::chrono::steady_clock::time_point begin_;
  size_t received_ = 0;
};

class Connections {
 public:
  // Answers one request; true: the connection may be used for another. Called by several threads.
  using Answerer = std::function<bool(Exchange&)>;

  // `listener` is the caller's, and is to be closed after run().
  Connections(const Limits& limits, Answerer answerer);
  ~Connections();

  // Returns after stop(): requests that are being answered are finished, others dropped.
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
  Clock::time_point time_for(size_t bytes) const;

  Limits limits_;
  Answerer answerer_;
  std::list<Connection> all_;  // of run()'s thread, but for those that are working
  int wake_ = -1;              // an eventfd: somebody is done, or it is to stop
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;  // of what follows
  std::condition_variable waiting_;
  std::deque<Connection*> queue_;
  std::vector<Connection*> done_;
};

}  // namespace xsp::serve

#endif  // XSP_SERVE_CONNECTIONS_H_

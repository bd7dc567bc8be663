#include "desk/serve/http/connections.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "shared/base/guard.h"

namespace xsp::serve {

struct Connection {
  enum class State { kReading, kWorking, kWriting, kLeaving, kClosed };
  using Clock = std::chrono::steady_clock;

  Connection(int given, std::string from) : socket(given), address(std::move(from)) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(socket); }

  void enter(State next, Clock::time_point until) {
    state = next;
    since = Clock::now();
    deadline = until;
  }
  size_t untaken() const { return output.size() - sent; }

  int socket;
  std::string address;  // the client's
  State state = State::kReading;
  Clock::time_point since;     // when it entered this state
  Clock::time_point deadline;  // when it is closed, unless it advances
  std::string input;           // bytes that no request has used
  size_t head = 0;             // length of the first request's head; 0: not complete yet
  std::string output;
  size_t sent = 0;         // bytes of output that were sent
  bool is_kept = false;    // whether it stays open after this answer
  bool has_begun = false;  // whether a request has begun
};

namespace {

using State = Connection::State;

constexpr size_t kPiece = 16 << 10;

// The C library lets threads allocate from up to eight pools for each processor, and each pool
// keeps what the largest answer took in it. With 16 pools, 37 of 43 MiB were free and never given
// back. malloc_trim() gives back what lies within the pools. Their free ends go by the threshold,
// which the library else raises to the largest answer. Refused: fewer pools, because all threads
// would wait for one lock.
void keep_little_memory() {
  ::mallopt(M_TRIM_THRESHOLD, 256 << 10);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

// Returns the answer to a request that no thread has seen, or could answer.
std::string refusal(std::string_view status, std::string_view text) {
  const std::string body = R"({"error":")" + std::string(text) + R"("})";
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" + body;
}

// Sends the bytes that the client takes at once. Returns false if the client has hung up.
bool send_now(Connection& one) {
  while (one.sent < one.output.size()) {
    const ssize_t sent = ::send(one.socket, one.output.data() + one.sent, one.untaken(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    one.sent += static_cast<size_t>(sent);
  }
  return true;
}

// Works like recv(). Returns -1 with EAGAIN if nothing has arrived.
ssize_t receive_now(int socket, char* to, size_t size) {
  ssize_t got;
  do {
    got = ::recv(socket, to, size, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Returns the address as text. IPv4 addresses on a socket of IPv6 are written as IPv4.
std::string address_of(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text, sizeof text);
  } else if (from.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&address);
    inet_ntop(is_v4 ? AF_INET : AF_INET6,
              is_v4 ? static_cast<const void*>(&address.s6_addr[12]) : &address, text, sizeof text);
  }
  return text;
}

bool is_nothing_yet() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Exchange::Exchange(Connection& connection, const Limits& limits)
    : connection_(connection), limits_(limits), begin_(Connection::Clock::now()) {}

const std::string& Exchange::address() const { return connection_.address; }

void Exchange::expect_body() { expects_body_ = true; }

void Exchange::write(std::string_view bytes) { connection_.output.append(bytes); }

// Waits until the socket is ready, or the body is late.
bool Exchange::wait(short events) const {
  const auto allowed =
      limits_.body + std::chrono::milliseconds(1000 * received_ / limits_.bytes_per_second);
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(begin_ + allowed - Connection::Clock::now());
  pollfd one{connection_.socket, events, 0};
  return left.count() > 0 && ::poll(&one, 1, static_cast<int>(left.count())) > 0;
}

bool Exchange::flush() {
  while (connection_.untaken() > 0) {
    if (!wait(POLLOUT) || !send_now(connection_)) return false;
  }
  connection_.output.clear();
  connection_.sent = 0;
  return true;
}

ptrdiff_t Exchange::read(char* to, size_t size) {
  const size_t whole = expects_body_ ? connection_.input.size() : connection_.head;
  if (at_ < whole) {
    size = std::min(size, whole - at_);
    std::memcpy(to, connection_.input.data() + at_, size);
    at_ += size;
    return static_cast<ptrdiff_t>(size);
  }
  if (!expects_body_) return 0;
  // A client that waits for "100 Continue" must get it now.
  if (!flush()) return -1;
  for (;;) {
    if (!wait(POLLIN)) return -1;
    const ssize_t got = receive_now(connection_.socket, to, size);
    if (got < 0 && is_nothing_yet()) continue;
    if (got > 0) received_ += static_cast<size_t>(got);
    return got;
  }
}

Connections::Connections(const Limits& limits, Answerer answerer)
    : limits_(limits),
      answerer_(std::move(answerer)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    limits_.connections =
        std::min<size_t>(limits_.connections, std::max<size_t>(files.rlim_cur / 2, 8));
  }
}

Connections::~Connections() { ::close(wake_); }

void Connections::stop() {
  is_stopping_ = true;
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

// Runs in each worker thread.
void Connections::work() {
  for (;;) {
    Connection* one = nullptr;
    {
      std::unique_lock lock(mutex_);
      waiting_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (is_stopping_) return;
      one = queue_.front();
      queue_.pop_front();
    }
    const auto thrown = guard([&] {
      Exchange exchange(*one, limits_);
      one->is_kept = answerer_(exchange);
    });
    if (thrown) {
      one->is_kept = false;
      if (one->sent == 0) {
        one->output = refusal("503 Service Unavailable", "answer: " + thrown->text);
      }
    }
    if (!send_now(*one)) one->is_kept = false;
    {
      const std::lock_guard lock(mutex_);
      done_.push_back(one);
    }
    const uint64_t count = 1;
    (void)!::write(wake_, &count, sizeof count);
    give_memory_back();
  }
}

void Connections::give_memory_back() {
  constexpr Clock::duration kEvery = std::chrono::seconds(5);
  const int64_t now = Clock::now().time_since_epoch().count();
  int64_t last = given_back_;
  if (now - last < kEvery.count() || !given_back_.compare_exchange_strong(last, now)) return;
  ::malloc_trim(0);
}

Status Connections::run(int listener) {
  if (wake_ < 0) return failed(std::string("server: no eventfd: ") + std::strerror(errno));
  keep_little_memory();
  std::vector<std::thread> threads;
  const auto thrown = guard([&] {
    while (threads.size() < limits_.threads) threads.emplace_back([this] { work(); });
  });
  if (thrown && threads.empty()) return failed("server: no threads: " + thrown->text);
  serve(listener);
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    queue_.clear();
  }
  waiting_.notify_all();
  for (Connection& one : all_) ::shutdown(one.socket, SHUT_RD);  // no more bodies are awaited
  for (std::thread& thread : threads) thread.join();
  all_.clear();
  return Ok{};
}

void Connections::serve(int listener) {
  std::vector<pollfd> polled;
  std::vector<Connection*> of_polled;
  while (!is_stopping_) {
    polled.assign({{listener, POLLIN, 0}, {wake_, POLLIN, 0}});
    of_polled.assign(2, nullptr);
    auto soonest = Clock::now() + std::chrono::seconds(1);
    for (Connection& one : all_) {
      if (one.state == State::kWorking) continue;
      soonest = std::min(soonest, one.deadline);
      polled.push_back(
          {one.socket, static_cast<short>(one.state == State::kWriting ? POLLOUT : POLLIN), 0});
      of_polled.push_back(&one);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(soonest - Clock::now());
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
    for (size_t i = 2; i < polled.size(); ++i) {
      Connection& one = *of_polled[i];
      const auto thrown = guard([&] {
        if (one.deadline <= Clock::now()) {
          expire(one);
        } else if (polled[i].revents == 0) {
          return;
        } else if (one.state == State::kReading) {
          read(one);
        } else if (one.state == State::kWriting) {
          write(one);
        } else {
          drain(one);
        }
      });
      if (thrown) one.state = State::kClosed;
    }
    if (polled[1].revents != 0) {
      uint64_t count;
      (void)!::read(wake_, &count, sizeof count);
      std::vector<Connection*> done;
      {
        const std::lock_guard lock(mutex_);
        done.swap(done_);
      }
      for (Connection* one : done) {
        if (guard([&] { settle(*one); })) one->state = State::kClosed;
      }
      bound_untaken();
    }
    all_.remove_if([](const Connection& one) { return one.state == State::kClosed; });
    if (polled[0].revents != 0) accept_all(listener);
  }
}

void Connections::accept_all(int listener) {
  // The number per round is limited, so that the present clients have their turn.
  for (int i = 0; i < 64; ++i) {
    pollfd pending{listener, POLLIN, 0};
    if (::poll(&pending, 1, 0) <= 0) return;
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const int socket =
        ::accept4(listener, reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC);
    if (socket < 0) {
      // After an error of one client, others may still come. If file descriptors run out, one
      // client must be dropped.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) make_room();
      return;
    }
    if (all_.size() >= limits_.connections) make_room();
    const auto thrown = guard([&] { all_.emplace_back(socket, address_of(from)); });
    if (thrown) {
      ::close(socket);
      return;
    }
    all_.back().enter(State::kReading, Clock::now() + limits_.head);
  }
}

// Closes the connection that has been waiting for the longest time.
void Connections::make_room() {
  auto longest = all_.end();
  const auto rank = [](const Connection& one) {
    return std::pair(one.state != State::kLeaving, one.since);
  };
  for (auto one = all_.begin(); one != all_.end(); ++one) {
    if (one->state == State::kWorking) continue;
    if (longest == all_.end() || rank(*one) < rank(*longest)) longest = one;
  }
  if (longest != all_.end()) all_.erase(longest);
}

void Connections::read(Connection& one) {
  char piece[kPiece];
  const ssize_t got = receive_now(one.socket, piece, sizeof piece);
  if (got < 0 && is_nothing_yet()) return;
  if (got <= 0) {
    one.state = State::kClosed;
    return;
  }
  one.input.append(piece, static_cast<size_t>(got));
  look(one);
}

// Hands the request to a worker thread if it is complete.
void Connections::look(Connection& one) {
  if (one.input.empty()) return;
  if (!one.has_begun) {
    one.has_begun = true;
    one.enter(State::kReading, Clock::now() + limits_.head);
  }
  const size_t end = std::string_view(one.input).substr(0, limits_.head_bytes).find("\r\n\r\n");
  if (end == std::string::npos) {
    if (one.input.size() >= limits_.head_bytes) {
      say(one, refusal("431 Request Header Fields Too Large", "request: its headers are too long"));
    }
    return;
  }
  one.head = end + 4;
  bool is_queued = false;
  {
    const std::lock_guard lock(mutex_);
    is_queued = queue_.size() < limits_.queue;
    if (is_queued) {
      one.enter(State::kWorking, Clock::time_point::max());
      queue_.push_back(&one);
    }
  }
  if (is_queued) {
    waiting_.notify_one();
  } else {
    say(one, refusal("429 Too Many Requests", "server: too many requests wait: ask again later"));
  }
}

// Handles an answer that came back from a worker thread.
void Connections::settle(Connection& one) {
  one.input.erase(0, one.head);
  one.head = 0;
  one.has_begun = false;
  one.enter(State::kWriting, time_for(one.untaken()));
  if (one.untaken() == 0) write(one);
}

void Connections::write(Connection& one) {
  if (!send_now(one)) {
    one.state = State::kClosed;
    return;
  }
  if (one.untaken() > 0) return;
  one.sent = 0;
  std::string().swap(one.output);
  if (!one.is_kept) return leave(one);
  one.enter(State::kReading, Clock::now() + limits_.idle);
  look(one);
}

// Reads and drops the bytes that the client still sends: if a socket is closed with unread bytes,
// its system discards the answer.
void Connections::leave(Connection& one) {
  std::string().swap(one.input);
  ::shutdown(one.socket, SHUT_WR);
  one.enter(State::kLeaving, Clock::now() + limits_.leave);
}

void Connections::drain(Connection& one) {
  char piece[kPiece];
  const ssize_t got = receive_now(one.socket, piece, sizeof piece);
  if (got == 0 || (got < 0 && !is_nothing_yet())) one.state = State::kClosed;
}

// Refuses a request that no thread sees.
void Connections::say(Connection& one, std::string answer) {
  one.is_kept = false;
  one.output = std::move(answer);
  one.enter(State::kWriting, time_for(one.untaken()));
  write(one);
}

void Connections::expire(Connection& one) {
  if (one.state == State::kReading && one.has_begun) {
    return say(one, refusal("408 Request Timeout", "request: it came too slowly"));
  }
  one.state = State::kClosed;
}

// Closes the slowest clients if too many bytes of answers have not been taken.
void Connections::bound_untaken() {
  size_t untaken = 0;
  std::vector<Connection*> writing;
  for (Connection& one : all_) {
    if (one.state != State::kWriting) continue;
    untaken += one.untaken();
    writing.push_back(&one);
  }
  std::sort(writing.begin(), writing.end(),
            [](const Connection* a, const Connection* b) { return a->since < b->since; });
  for (size_t i = 0; untaken > limits_.untaken_bytes && i + 1 < writing.size(); ++i) {
    untaken -= writing[i]->untaken();
    writing[i]->state = State::kClosed;
  }
}

Connections::Clock::time_point Connections::time_for(size_t bytes) const {
  return Clock::now() + limits_.body +
         std::chrono::milliseconds(1000 * bytes / limits_.bytes_per_second);
}

}  // namespace xsp::serve

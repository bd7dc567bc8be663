// A function of the user's Python file, in a process of its own.
//
// The process starts with the first value and serves all that follow, so that the function's module
// is read once. It has bounds of memory and of time for each value; if it exceeds one or dies, the
// request fails, and the next one gets a new process. The function gets a NumPy array and returns
// one. Both go through a socket: a line "DTYPE D1,D2", then the elements; an answer may be the line
// "error TEXT" instead.
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <limits>
#include <mutex>

#include "pipelines/shared/step.h"
#include "shared/base/words.h"

extern char** environ;

namespace xsp::pipelines {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSecondsMax = 86'400;
constexpr int64_t kMebibytesMax = 1 << 20;
constexpr size_t kLineMax = 4096;

// What the function prints goes to the standard error. The alarm ends an endless call even if
// nobody waits for it any more.
constexpr const char* kServer = R"(
import importlib.util, os, resource, signal, sys
file, name, seconds, mebibytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
signal.setitimer(signal.ITIMER_REAL, seconds + 1)
ours = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(0), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
def answer(line, content=b""):
    ours[1].write(line.encode("utf-8", "replace") + b"\n")
    ours[1].write(content)
    ours[1].flush()
def text_of(error):
    return "error " + " ".join((type(error).__name__ + ": " + str(error)).split())[:2000]
try:
    import numpy
    spec = importlib.util.spec_from_file_location("xsp_step", file)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(file))
    spec.loader.exec_module(module)
    function = getattr(module, name)
except BaseException as error:
    answer(text_of(error))
    sys.exit(1)
while line := ours[0].readline():
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)
    try:
        dtype, sides = line.decode().rstrip("\n").split(" ")
        sides = [int(side) for side in sides.split(",") if side]
        array = numpy.empty(sides, dtype)
        content = ours[0].read(array.nbytes)
        array = numpy.frombuffer(bytearray(content), dtype).reshape(sides)
        result = numpy.ascontiguousarray(function(array))
        shape = numpy.shape(result)
        answer(str(result.dtype) + " " + ",".join(map(str, shape)), result.tobytes())
    except BaseException as error:
        answer(text_of(error))
    signal.setitimer(signal.ITIMER_REAL, 0)
)";

uint32_t dtype_of(const std::string& name) {
  for (uint32_t dtype = 1; dtype <= XSP_BFLOAT16; ++dtype) {
    if (name == dtype_name(dtype)) return dtype;
  }
  return 0;
}

// Reads "2,3"; "" has no dimensions.
bool parse_dimensions(const std::string& text, std::vector<int64_t>* dimensions) {
  if (text.empty()) return true;
  for (const std::string& side : split(text, ',')) {
    int64_t& number = dimensions->emplace_back();
    const auto [end, error] = std::from_chars(side.data(), side.data() + side.size(), number);
    if (error != std::errc() || end != side.data() + side.size() || number < 0) return false;
  }
  return true;
}

// The process, and our end of its socket.
class Server {
 public:
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { stop(); }

  bool is_started() const { return child_ > 0; }

  Status start(const std::vector<std::string>& words) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return failed("no socket can be made: close files");
    }
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    const int error =
        ::posix_spawnp(&child_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    socket_ = ends[0];
    if (error == 0) return Ok{};
    child_ = 0;
    stop();
    return failed("python3 cannot be started: install it, or correct PATH");
  }

  void stop() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
    child_ = 0;
  }

  bool send(const void* data, size_t size, Clock::time_point end) const {
    const auto* bytes = static_cast<const char*>(data);
    while (size > 0) {
      if (!wait(POLLOUT, end)) return false;
      const ssize_t sent = ::send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (sent < 0) return false;
      bytes += sent;
      size -= static_cast<size_t>(sent);
    }
    return true;
  }

  bool receive(void* data, size_t size, Clock::time_point end) const {
    auto* bytes = static_cast<char*>(data);
    while (size > 0) {
      if (!wait(POLLIN, end)) return false;
      const ssize_t got = ::recv(socket_, bytes, size, MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return false;
      bytes += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  bool receive_line(std::string* line, Clock::time_point end) const {
    for (char c = 0; line->size() < kLineMax; *line += c) {
      if (!receive(&c, 1, end)) return false;
      if (c == '\n') return true;
    }
    return false;
  }

 private:
  bool wait(short events, Clock::time_point end) const {
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return false;
      pollfd one = {socket_, events, 0};
      const int ready = ::poll(&one, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  pid_t child_ = 0;
  int socket_ = -1;
};

class Python : public Step {
 public:
  explicit Python(Parameters& parameters)
      : seconds_(parameters.integer("seconds", 1, kSecondsMax, 30)),
        mebibytes_(parameters.integer("memory", 64, kMebibytesMax, 4096)),
        has_dimensions_(parameters.has("dimensions")) {
    const std::string place = parameters.text("value");
    const size_t colon = place.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == place.size()) {
      parameters.refuse("value", "no function of a file: write FILE.py:FUNCTION");
    } else {
      file_ = place.substr(0, colon);
      function_ = place.substr(colon + 1);
      std::error_code error;
      if (!std::filesystem::is_regular_file(file_, error)) {
        parameters.refuse("value", "no such file: its path is relative to the manifest's folder");
      }
    }
    if (parameters.has("dtype")) {
      std::vector<std::string> names;
      for (uint32_t dtype = 1; dtype < XSP_BFLOAT16; ++dtype) names.emplace_back(dtype_name(dtype));
      dtype_ = dtype_of(parameters.word("dtype", names));
    }
    for (const double side : parameters.numbers("dimensions", {0})) {
      dimensions_.push_back(static_cast<int64_t>(side));
    }
  }

  Result<Type> accept(const Type& given) override {
    if (given.dtype == 0 || given.dtype == XSP_BFLOAT16 || given.kind == Kind::kQuads) {
      return usage("bytes, an image, audio or a tensor, of a type that NumPy has");
    }
    result_ = given;
    if (has_dimensions_) result_ = tensor_type(given.dtype, dimensions_);
    if (dtype_ != 0) result_.dtype = dtype_;
    return result_;
  }

  Result<Value> run(Value value) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto end = Clock::now() + std::chrono::seconds(seconds_);
    if (!server_.is_started()) {
      XSP_CHECK_OK(server_.start({"python3", "-c", kServer, file_, function_,
                                  std::to_string(seconds_), std::to_string(mebibytes_)}));
    }
    Result<Value> result = ask(value, end);
    if (!result.ok()) server_.stop();
    return result;
  }

 private:
  Result<Value> ask(const Value& value, Clock::time_point end) {
    const std::string line =
        std::string(dtype_name(value.type.dtype)) + " " + joined(value.type.dimensions, ",") + "\n";
    std::string answer;
    // A process that cannot start has said why before it is asked.
    const bool is_sent = server_.send(line.data(), line.size(), end) &&
                         server_.send(value.data.data(), value.data.size(), end);
    if (!server_.receive_line(&answer, end)) return stopped(end);
    if (answer.rfind("error ", 0) == 0) return failed(function_ + ": " + answer.substr(6));
    const std::vector<std::string> words = split(answer + " ", ' ');
    std::vector<int64_t> dimensions;
    const uint32_t dtype = dtype_of(words[0]);
    if (!is_sent || !parse_dimensions(words.size() > 1 ? words[1] : "", &dimensions)) {
      return failed(function_ + ": its answer is not understood");
    }
    if (dtype != result_.dtype || !fits(dimensions, result_.dimensions) ||
        element_count(dimensions) < 0) {
      return failed(function_ + " gives " + words[0] + dimensions_text(dimensions) +
                    ", the manifest says " + dtype_name(result_.dtype) +
                    dimensions_text(result_.dimensions) + ": change one of them");
    }
    Type type = result_;
    type.dimensions = std::move(dimensions);
    Value result = zeros(std::move(type));
    if (!server_.receive(result.data.data(), result.data.size(), end)) return stopped(end);
    return result;
  }

  Error stopped(Clock::time_point end) const {
    if (Clock::now() >= end) {
      return failed(function_ + ": no answer in " + std::to_string(seconds_) +
                    " s: make it faster, or allow more 'seconds'");
    }
    return failed(function_ + ": its process ended: see what it wrote");
  }

  const int64_t seconds_, mebibytes_;
  const bool has_dimensions_;
  std::string file_, function_;
  uint32_t dtype_ = 0;  // 0: that of what it is given
  std::vector<int64_t> dimensions_;
  Type result_;
  std::mutex mutex_;
  Server server_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Python>(parameters); }

}  // namespace

StepKind python_step() {
  return {"python",
          "A function of a Python file, in a process of its own; it gets a NumPy array.",
          "FILE.py:FUNCTION, or value: the same; dtype, dimensions (-1: any): of what it returns, "
          "else those of what it gets; seconds: for an answer, else 30; memory: in MiB, else 4096",
          make,
          "value",
          true};
}

}  // namespace xsp::pipelines

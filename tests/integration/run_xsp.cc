#include "tests/integration/run_xsp.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/places.h"

namespace xsp::integration {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The limit is far above the time of any test: a program that hangs is killed, and the test fails.
constexpr seconds kLimit{900};

// Reads the available data. Returns false at the end.
bool drain(int fd, std::string* text) {
  char buffer[8192];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) {
      text->append(buffer, static_cast<size_t>(got));
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return true;
    }
  }
}

// The words and the environment with which a child becomes the program. The parent makes them
// before the fork. A child that allocates may wait for ever with AddressSanitizer, because another
// thread of the test may hold the allocator's lock while the test forks.
struct Command {
  Command(const std::vector<std::string>& arguments, const RunOptions& options,
          const fs::path& folder_of_test)
      : program(options.program.empty() ? places::bin("xsp") : options.program),
        folder(folder_of_test),
        file_bytes_max(options.file_bytes_max),
        words(arguments) {
    words.insert(words.begin(), program);
    std::map<std::string, std::string> values;
    for (char** one = environ; *one != nullptr; ++one) {
      const std::string text = *one;
      const size_t equals = text.find('=');
      if (equals != std::string::npos) values[text.substr(0, equals)] = text.substr(equals + 1);
    }
    // A deliberate crash must end a process as it does without sanitizers. What ctest sets stays.
    const std::string given = values["ASAN_OPTIONS"];
    values["ASAN_OPTIONS"] = "handle_segv=0:handle_abort=0:allocator_may_return_null=1" +
                             (given.empty() ? "" : ":" + given);
    values["TMPDIR"] = folder_of_test / "tmp";
    for (const auto& [key, value] : options.environment) values[key] = value;
    for (const auto& [key, value] : values) environment.push_back(key + "=" + value);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    for (std::string& one : environment) envp.push_back(one.data());
    envp.push_back(nullptr);
  }

  std::string program, folder;
  uint64_t file_bytes_max;
  std::vector<std::string> words, environment;
  std::vector<char*> argv, envp;
};

[[noreturn]] void become(const Command& command, int out, int err) {
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (::chdir(command.folder.c_str()) != 0) ::_exit(126);
  if (command.file_bytes_max > 0) {
    const rlimit limit{command.file_bytes_max, command.file_bytes_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ::execve(command.program.c_str(), command.argv.data(), command.envp.data());
  ::_exit(127);
}

}  // namespace

void XspTest::SetUp() {
  std::string pattern = (fs::temp_directory_path() / "xsp-integration-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  folder = pattern;
  fs::create_directory(folder / "tmp");
}

void XspTest::TearDown() {
  // No temporary file is left behind, however the program ended.
  if (!HasFailure() && fs::exists(folder / "tmp")) {
    EXPECT_TRUE(fs::is_empty(folder / "tmp")) << fs::directory_iterator(folder / "tmp")->path();
  }
  fs::remove_all(folder);
}

Finished XspTest::run(const std::vector<std::string>& arguments, const RunOptions& options) const {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return {};
  ::fcntl(out[0], F_SETFL, O_NONBLOCK);
  ::fcntl(err[0], F_SETFL, O_NONBLOCK);
  const Command command(arguments, options, folder);
  const pid_t pid = ::fork();
  if (pid == 0) become(command, out[1], err[1]);
  ::close(out[1]);
  ::close(err[1]);
  Finished finished;
  bool watching = static_cast<bool>(options.watch);
  bool out_open = true, err_open = true;
  const auto limit = steady_clock::now() + kLimit;
  while (out_open || err_open) {
    pollfd fds[2] = {{out_open ? out[0] : -1, POLLIN, 0}, {err_open ? err[0] : -1, POLLIN, 0}};
    ::poll(fds, 2, 5);
    if (fds[0].revents != 0) out_open = drain(out[0], &finished.out);
    if (fds[1].revents != 0) err_open = drain(err[0], &finished.err);
    if (watching) watching = !options.watch(finished.err, pid);
    if (steady_clock::now() > limit) ::kill(pid, SIGKILL);
  }
  ::close(out[0]);
  ::close(err[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

nlohmann::json XspTest::query(const std::string& file, const std::string& sql) const {
  const Finished finished = run({"query", file, sql, "--format", "json"});
  EXPECT_EQ(finished.status, 0) << sql << "\n" << finished.err;
  if (finished.status != 0) return nullptr;
  return nlohmann::json::parse(finished.out, nullptr, false);
}

nlohmann::json XspTest::scalar(const std::string& file, const std::string& sql) const {
  const nlohmann::json rows = query(file, sql);
  if (!rows.is_array() || rows.empty()) return nullptr;
  return rows[0].begin().value();
}

std::vector<std::string> XspTest::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

void XspTest::write_file(const std::string& name, const std::string& text) const {
  std::ofstream(folder / name) << text;
}

void WatchedTest::SetUp() {
  XspTest::SetUp();
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer's run-time library cannot be preloaded into other programs";
#endif
}

int error_lines(const Finished& finished) {
  int count = 0;
  std::istringstream stream(finished.err);
  for (std::string line; std::getline(stream, line);) count += line.rfind("error: ", 0) == 0;
  return count;
}

testing::AssertionResult equal_but_for_round_off(const nlohmann::json& one,
                                                 const nlohmann::json& other) {
  const auto unequal = [&] { return testing::AssertionFailure() << one << " and " << other; };
  if (one.is_number() && other.is_number()) {
    const double a = one.get<double>();
    const double b = other.get<double>();
    const double allowed = std::max(1e-6, 1e-12 * std::max(std::abs(a), std::abs(b)));
    return std::abs(a - b) <= allowed ? testing::AssertionSuccess() : unequal();
  }
  if (!one.is_structured() || one.type() != other.type()) {
    return one == other ? testing::AssertionSuccess() : unequal();
  }
  if (one.size() != other.size()) return unequal();
  for (const auto& [key, value] : one.items()) {
    if (one.is_object() && !other.contains(key)) return unequal() << ": " << key;
    const auto& same = one.is_object() ? other.at(key) : other.at(std::stoul(key));
    if (const auto result = equal_but_for_round_off(value, same); !result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace xsp::integration

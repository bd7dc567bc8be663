#include "desk/store/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "desk/store/testing.h"

namespace xsp::store {
namespace {

namespace fs = std::filesystem;

// Checks what a confined process can do. Returns the number of the check that failed, or 0.
int look(const fs::path& mine, const fs::path& other, const fs::path& folder) {
  confine({{mine}, {folder}, 0});
  if (can_confine_files()) {
    if (std::ifstream(other).good()) return 1;
    if (::open("/etc/passwd", O_RDONLY) >= 0) return 2;
    if (std::ofstream(mine).good()) return 3;
    if (::mkdir((other.string() + ".folder").c_str(), 0700) == 0) return 4;
  }
  if (!std::ifstream(mine).good()) return 5;
  std::ofstream(folder / "spill") << "x";
  if (!fs::exists(folder / "spill") || !fs::remove(folder / "spill")) return 6;
  if (can_confine_calls()) {
    if (::socket(AF_INET, SOCK_STREAM, 0) >= 0) return 7;
    if (::socket(AF_UNIX, SOCK_STREAM, 0) >= 0) return 8;
    if (::fork() >= 0) return 9;
    if (::kill(::getppid(), 0) == 0) return 10;
    if (::truncate(mine.c_str(), 0) == 0) return 11;
    char program[] = "/bin/true";
    char* argv[] = {program, nullptr};
    ::execv(program, argv);  // the program would end with 0
    if (::syscall(SYS_io_uring_setup, 1, nullptr) >= 0 || errno != EPERM) return 12;
  }
  int answer = 0;
  std::thread([&] { answer = 42; }).join();
  return answer == 42 ? 77 : 13;
}

TEST(Confine, AProcessHasItsFilesAndThreadsAndNothingElse) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer allows no threads after fork";
#endif
  const ScratchFolder scratch;
  const fs::path mine = scratch.path() / "mine", other = scratch.path() / "other";
  const fs::path folder = scratch.path() / "folder";
  std::ofstream(mine) << "x";
  std::ofstream(other) << "x";
  fs::create_directory(folder);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look(mine, other, folder));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 77);
}

}  // namespace
}  // namespace xsp::store

// Tests processes and threads that end in unusual ways, and the resources that a thread takes.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <functional>
#include <thread>

#include "process/record/testing.h"

namespace xsp::process {
namespace {

// Runs `does` in a child process that records, waits for the child, and returns its status.
int in_recording_child(const std::string& path, const std::function<void()>& does) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that would never end
    if (start(path) == 0) does();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Ends, EndsWithItsLastThread) {
  if (!kForksWithThreads) GTEST_SKIP() << "children with threads cannot be followed here";
  Scratch scratch;
  const int status = in_recording_child(scratch.path(), [] {
    emit_nested(5);
    syscall(SYS_exit, 3);
  });
  EXPECT_EQ(status, 3);
  EXPECT_EQ(count_spans(open_trace(scratch.path())), 10u);
}

TEST(Ends, AThreadThatIsCancelledLeavesNoLock) {
  if (!kForksWithThreads) GTEST_SKIP() << "children with threads cannot be followed here";
  Scratch scratch;
  const int status = in_recording_child(scratch.path(), [] {
    for (int i = 0; i < 20; ++i) {
      std::atomic<bool> is_cancelled{false};
      std::thread thread([&is_cancelled] {
        while (!is_cancelled) {
        }
        emit_nested(1);
        for (;;) pause();
      });
      pthread_cancel(thread.native_handle());
      is_cancelled = true;
      thread.join();
    }
    xsp_stop();
    _exit(0);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(count_spans(open_trace(scratch.path())), 40u);
}

TEST(Ends, TheNameOfASpanIsInTheFileBeforeIt) {
  if (!kForksWithThreads) GTEST_SKIP() << "children with threads cannot be followed here";
  for (int i = 0; i < 20; ++i) {
    Scratch scratch;
    const int status = in_recording_child(scratch.path(), [] {
      xsp_site site = {};
      site.level = XSP_LEVEL_LAYER;
      site.id = xsp_intern_site(XSP_LEVEL_LAYER, "interned before", nullptr);
      xsp_span span = xsp_begin(&site);
      kill(getpid(), SIGKILL);
      xsp_end(&span);
    });
    EXPECT_EQ(status, 128 + SIGKILL);
    EXPECT_EQ(loss(open_trace(scratch.path()), "open span of an unknown site"), 0u);
  }
}

TEST(Ends, AThreadThatEmitsLittleTakesLittleMemory) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's own memory is counted with it";
#endif
  if (!kForksWithThreads) GTEST_SKIP() << "an emulator's own memory is counted with it";
  const auto resident_pages = [] {
    std::ifstream file("/proc/self/statm");
    long all = 0;
    long resident = 0;
    file >> all >> resident;
    return resident;
  };
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  const long before = resident_pages();
  constexpr int kThreads = 20;
  std::atomic<bool> ends{false};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      emit_nested(10);
      ++ready;
      while (!ends) std::this_thread::yield();
    });
  }
  while (ready < kThreads) std::this_thread::yield();
  const long bytes = (resident_pages() - before) * sysconf(_SC_PAGESIZE);
  ends = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_LT(bytes / kThreads, 512 << 10);
}

}  // namespace
}  // namespace xsp::process

// Tests processes and threads that end, fork, and are killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <random>
#include <thread>

#include "process/record/testing.h"

namespace xsp::process {
namespace {

namespace fs = std::filesystem;
using trace::Reader;

constexpr int kVictimThreads = 2;

// The progress of a process that is about to be killed, in memory that survives it.
struct Progress {
  std::atomic<uint64_t> begun[kVictimThreads];
  std::atomic<uint64_t> ended[kVictimThreads];
};

[[noreturn]] void emit_until_killed(Progress* progress, int thread) {
  const uint32_t key = xsp_intern_key("i");
  for (int64_t i = 0;; ++i) {
    xsp_span a = xsp_begin(&model_site);
    progress->begun[thread].fetch_add(1);
    xsp_span_int(&a, key, i);
    if (i % 64 == 0) xsp_span_text(&a, key, "some text that takes a slot or two of its own");
    xsp_span b = xsp_begin(&layer_site);
    progress->begun[thread].fetch_add(1);
    xsp_end(&b);
    progress->ended[thread].fetch_add(1);
    xsp_end(&a);
    progress->ended[thread].fetch_add(1);
    if (i % 4096 == 0) std::this_thread::yield();
  }
}

void check_killed(const std::string& path, const Progress& progress) {
  const Reader reader = open_trace(path);
  EXPECT_FALSE(reader.is_complete());
  uint64_t begun = 0;
  uint64_t ended = 0;
  for (int i = 0; i < kVictimThreads; ++i) {
    begun += progress.begun[i];
    ended += progress.ended[i];
  }
  const uint64_t accounted = count_spans(reader) + loss(reader, "process ended before writing") +
                             loss(reader, "ring full");
  // Each thread may have been between the library's count and the test's count.
  EXPECT_GE(accounted, ended) << all_losses(reader);
  EXPECT_LE(accounted, ended + kVictimThreads) << all_losses(reader);
  EXPECT_GE(accounted + reader.open_spans().size(), begun);
  EXPECT_LE(accounted + reader.open_spans().size(), begun + kVictimThreads);
  EXPECT_EQ(loss(reader, "damaged chunk"), 0u);
  EXPECT_EQ(loss(reader, "span in a damaged chunk"), 0u);
  EXPECT_EQ(loss(reader, "span of an unknown site"), 0u);
  EXPECT_EQ(loss(reader, "open span of an unknown site"), 0u);
  for (const trace::OpenSpan& span : reader.open_spans()) {
    EXPECT_LE(span.start_ns, reader.last_ns());
    EXPECT_GE(span.start_ns, reader.first_ns());
  }
}

TEST(Process, KilledAtAnyMoment) {
  Scratch scratch;
  void* shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  std::mt19937 random(20);
  for (int round = 0; round < 25 && !HasFailure(); ++round) {
    Progress* progress = new (shared) Progress();
    const std::string path = scratch.path("k" + std::to_string(round) + ".xtrace");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (start(path, 1u << 20) != 0) _exit(1);
      std::thread([&] { emit_until_killed(progress, 1); }).detach();
      emit_until_killed(progress, 0);
    }
    // The kill comes at any time from before the first span to some passes of the drainer later.
    while (round > 3 && progress->ended[0] == 0) usleep(100);
    usleep(static_cast<useconds_t>(random() % (round < 10 ? 3000 : 60'000)));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (!fs::exists(path) || fs::file_size(path) == 0) continue;  // killed before the first page
    check_killed(path, *progress);
    fs::remove(path);
  }
  munmap(shared, sizeof(Progress));
}

std::atomic<int> flushes_given_up{0};

void flush_in_handler(int) {
  const int error = xsp_flush_within(1);
  if (error == ETIMEDOUT) flushes_given_up.fetch_add(1);
}

// The handler may have interrupted the very thread that holds the lock. That thread never releases
// it.
TEST(Process, AFlushInAHandlerGivesUp) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets a handler run only where a thread waits";
#endif
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  emit_nested(1);
  EXPECT_EQ(xsp_flush_within(1000), 0);
  EXPECT_EQ(count_spans(open_trace(scratch.path())), 2u);
  struct sigaction before = {};
  struct sigaction action = {};
  action.sa_handler = flush_in_handler;
  sigaction(SIGUSR1, &action, &before);
  const pthread_t main_thread = pthread_self();
  std::atomic<bool> is_over{false};
  std::thread sender([&] {
    // A thread that does little else holds the lock most of the time.
    for (int i = 0; i < 3000 && flushes_given_up == 0; ++i) {
      pthread_kill(main_thread, SIGUSR1);
      usleep(200);
    }
    is_over = true;
  });
  while (!is_over) {
    emit_nested(1);
    xsp_flush();
  }
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GT(flushes_given_up, 0);
  ASSERT_EQ(xsp_stop(), 0);
}

// Returns this process's descriptor of a file; -1: it has none.
int descriptor_of(const std::string& path) {
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (fs::read_symlink(entry.path(), error) == path) return std::stoi(entry.path().filename());
  }
  return -1;
}

TEST(Process, AFileThatTakesTheTracesDescriptorIsLeftAlone) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  emit_nested(10);
  xsp_flush();
  const int ours = descriptor_of(scratch.path());
  EXPECT_GE(ours, 500) << "programs use the low ones";
  const std::string other = scratch.path("other");
  const int theirs = open(other.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(dup2(theirs, ours), ours);
  emit_nested(10);
  xsp_flush();
  EXPECT_EQ(xsp_stop(), 0);
  EXPECT_EQ(fs::file_size(other), 0u);
  EXPECT_EQ(fcntl(ours, F_GETFD), 0) << "it is closed, or another's";
  close(ours);
  close(theirs);
  const Reader reader = open_trace(scratch.path());
  EXPECT_EQ(count_spans(reader), 40u);
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
}

TEST(Process, ATraceThatWasClosedAndIsGoneIsNotMadeAgain) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  emit_nested(10);
  xsp_flush();
  const std::string moved = scratch.path("moved.xtrace");
  fs::rename(scratch.path(), moved);
  std::ofstream(scratch.path()) << "another's";
  ASSERT_EQ(close(descriptor_of(moved)), 0);
  emit_nested(10);
  EXPECT_NE(xsp_stop(), 0);
  EXPECT_EQ(fs::file_size(scratch.path()), 9u);
  // Everything that was written before is readable, and the rest is counted.
  const Reader reader = open_trace(moved);
  EXPECT_EQ(count_spans(reader), 20u);
  EXPECT_EQ(loss(reader, "file not writable or at its limit"), 20u);
}

TEST(Process, EndsWithoutStopping) {
  Scratch scratch;
  const pid_t child = fork();
  if (child == 0) {
    if (start(scratch.path()) != 0) _exit(1);
    emit_nested(10);
    xsp_begin(&model_site);
    exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(is_success(status));
  const Reader reader = open_trace(scratch.path());
  EXPECT_TRUE(reader.is_complete());
  EXPECT_EQ(count_spans(reader), 20u);
  EXPECT_EQ(reader.open_spans().size(), 1u);
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
}

TEST(Process, ChildOfAForkRecordsIntoItsOwnFile) {
  if (!kForksWithThreads) GTEST_SKIP() << "ThreadSanitizer, or an emulator";
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  emit_nested(5);
  xsp_span across = xsp_begin(&model_site);
  pid_t child_id = 0;
  const int status = in_child([&] {
    xsp_end(&across);  // begun in the parent
    emit_nested(7);
    std::thread([] { emit_nested(1); }).join();
    // A grandchild that emits nothing makes no file.
    if (!is_success(in_child([] { return 0; }))) return 2;
    return xsp_stop();
  });
  ASSERT_TRUE(is_success(status));
  xsp_end(&across);
  emit_nested(5);
  ASSERT_EQ(xsp_stop(), 0);

  const Reader parent = open_trace(scratch.path());
  EXPECT_TRUE(parent.is_complete());
  EXPECT_EQ(count_spans(parent), 21u);
  EXPECT_TRUE(parent.losses().empty()) << all_losses(parent);
  size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch.folder())) {
    ++files;
    if (entry.path() == scratch.path()) continue;
    const Reader reader = open_trace(entry.path().string());
    child_id = static_cast<pid_t>(reader.process_id());
    EXPECT_EQ(entry.path().filename(), "a." + std::to_string(child_id) + ".xtrace");
    EXPECT_TRUE(reader.is_complete());
    EXPECT_EQ(count_spans(reader), 16u);
    EXPECT_TRUE(reader.open_spans().empty());
    EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
    EXPECT_GE(reader.first_ns(), parent.first_ns());
    EXPECT_LE(reader.last_ns(), parent.last_ns());
  }
  EXPECT_EQ(files, 2u);
  EXPECT_NE(child_id, getpid());
}

TEST(Process, ForksWhileThreadsEmit) {
  if (!kForksWithThreads) GTEST_SKIP() << "ThreadSanitizer, or an emulator";
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  std::atomic<bool> quit{false};
  std::atomic<uint64_t> emitted{0};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      emit_nested(100);
      ++started;
      emitted += 200;
      while (!quit) {
        emit_nested(100);
        emitted += 200;
        usleep(1000);
      }
    });
  }
  while (started < 2) usleep(100);
  for (int i = 0; i < 15; ++i) {
    const int status = in_child([&] {
      emit_nested(3);
      return xsp_stop();
    });
    EXPECT_TRUE(is_success(status)) << status;
  }
  quit = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_EQ(counts().recorded + counts().dropped_ring, emitted);
  size_t children = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch.folder())) {
    const Reader reader = open_trace(entry.path().string());
    EXPECT_TRUE(reader.is_complete());
    if (entry.path() == scratch.path()) {
      EXPECT_EQ(count_spans(reader), counts().recorded);
    } else {
      ++children;
      EXPECT_EQ(count_spans(reader), 6u);
    }
  }
  EXPECT_EQ(children, 15u);
}

#if !defined(XSP_SANITIZED) && !defined(XSP_EMULATED)
// Forks as a container's runtime does: no handler of the C library runs.
TEST(Process, ChildMadeWithoutTheLibraryOfC) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  emit_nested(5);
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    emit_nested(7);
    _exit(xsp_stop());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(is_success(status)) << status;
  emit_nested(5);
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_EQ(count_spans(open_trace(scratch.path())), 20u);
  const Reader reader = open_trace(scratch.path("a." + std::to_string(child) + ".xtrace"));
  EXPECT_EQ(count_spans(reader), 14u);
}
#endif

TEST(Process, AFileInUseIsLeftAlone) {
  if (!kForksWithThreads) GTEST_SKIP() << "ThreadSanitizer, or an emulator";
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  emit_nested(1);
  // This is another program with the same environment, not a child that continues the recording.
  const int status = in_child([&] {
    xsp_stop();
    if (start(scratch.path()) != 0) return 1;
    emit_nested(2);
    return xsp_stop();
  });
  ASSERT_TRUE(is_success(status));
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_EQ(count_spans(open_trace(scratch.path())), 2u);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(scratch.folder())) ++files;
  EXPECT_EQ(files, 2u);
}

TEST(Threads, ThatEndLeaveTheirRingToTheNext) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path(), 1u << 16), 0);
  constexpr int kThreads = 200;
  for (int i = 0; i < kThreads; ++i) {
    std::thread([] {
      emit_nested(10);
      xsp_begin(&model_site);
    }).join();
  }
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  EXPECT_EQ(count_spans(reader), kThreads * 20u);
  EXPECT_EQ(reader.open_spans().size(), size_t{kThreads});
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
  // A lane takes a page and its padding: with one per thread, the file would be twice as large.
  EXPECT_LT(fs::file_size(scratch.path()), kThreads * 4096u);
}

TEST(Threads, EmitWhileRecordingsStartAndStop) {
  std::atomic<bool> quit{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&quit, i] {
      const uint32_t site = xsp_intern_site(XSP_LEVEL_KERNEL, "given", nullptr);
      const uint32_t key = xsp_intern_key("key");
      while (!quit) {
        xsp_span span = xsp_begin(&model_site);
        xsp_span_text(&span, key, "text");
        emit_nested(20);
        xsp_end(&span);
        xsp_complete_span given = {};
        given.struct_size = sizeof given;
        given.site_id = site;
        given.device = static_cast<uint32_t>(i);
        xsp_emit(&given);
        std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    Scratch scratch;
    ASSERT_EQ(start(scratch.path(), 1u << 20), 0);
    usleep(5000);
    xsp_flush();
    xsp_set_levels(round % 2 == 0 ? XSP_LEVELS_ALL : XSP_LEVEL_BIT(XSP_LEVEL_MODEL));
    usleep(3000);
    ASSERT_EQ(xsp_stop(), 0);
    const Reader reader = open_trace(scratch.path());
    EXPECT_TRUE(reader.is_complete());
    EXPECT_EQ(count_spans(reader), counts().recorded);
    EXPECT_EQ(loss(reader, "ring full"), counts().dropped_ring);
    EXPECT_EQ(reader.losses().size(), counts().dropped_ring == 0 ? 0u : 1u) << all_losses(reader);
    EXPECT_LE(reader.open_spans().size(), 4u * 3);
  }
  quit = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace xsp::process

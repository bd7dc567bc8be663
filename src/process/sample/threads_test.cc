// The sampler sees this process: its memory, its threads, its own files.
#include "process/sample/threads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "process/sample/call_names.h"
#include "process/sample/testing.h"

namespace xsp::process {
namespace {

using trace::ThreadDoes;

void spin(const std::atomic<bool>& ends) {
  while (!ends) {
  }
}
void sleep_on(const std::atomic<bool>& ends) {
  while (!ends) usleep(300'000);
}

// Looks as the sampler does, from another thread.
void look_from_elsewhere(const std::function<void(ThreadTable&, int32_t)>& work) {
  from_elsewhere([&work] {
    const auto table = std::make_unique<ThreadTable>();
    table->begin();
    work(*table, gettid());
  });
}

TEST(OwnMemory, GivesWhatIsThereAndNoSignalForTheRest) {
  OwnMemory memory;
  if (!memory.begin()) GTEST_SKIP() << kNotHere;
  const long page = sysconf(_SC_PAGESIZE);
  void* const pages = mmap(nullptr, static_cast<size_t>(2 * page), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto first = reinterpret_cast<uint64_t>(pages);
  const uint64_t second = first + static_cast<uint64_t>(page);
  *static_cast<int*>(pages) = 42;
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(second), static_cast<size_t>(page), PROT_NONE), 0);
  int value = 0;
  EXPECT_TRUE(memory.read(first, &value));
  EXPECT_EQ(value, 42);
  EXPECT_FALSE(memory.read(second, &value));
  EXPECT_FALSE(memory.read(second - 2, &value));
  EXPECT_FALSE(memory.read(0, &value));
  EXPECT_FALSE(memory.read(UINT64_MAX - 2, &value));
  int values[3] = {};
  const Piece pieces[] = {{first, &values[0], 4}, {second, &values[1], 4}, {first, &values[2], 4}};
  EXPECT_EQ(memory.read_pieces(pieces, 3), 1u);
  munmap(pages, static_cast<size_t>(2 * page));
}

TEST(OwnFiles, AreNobodyElses) {
  const int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(before, 0);
  look_from_elsewhere([before](ThreadTable& table, int32_t self) {
    EXPECT_EQ(fcntl(before, F_GETFD), -1);
    table.look(self);
    EXPECT_GT(table.count(), 0u);
  });
  EXPECT_EQ(fcntl(before, F_GETFD), FD_CLOEXEC);
  const int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(after, before + 1);
  close(after);
  close(before);
}

TEST(ThreadTable, TellsWhoRunsFromWhoSleepsAndInWhichCall) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  const Worker busy(spin);
  const Worker idle(sleep_on);
  look_from_elsewhere([&](ThreadTable& table, int32_t self) {
    int ran = 0;
    int slept = 0;
    int still = 0;
    for (int i = 0; i < 20; ++i) {
      table.look(self);
      const SampledThread* one = table.find(busy.tid());
      const SampledThread* other = table.find(idle.tid());
      ASSERT_NE(one, nullptr);
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(table.find(self), nullptr);
      ran += one->does == ThreadDoes::kRuns || one->does == ThreadDoes::kQueues ? 1 : 0;
      const char* call = other->call < 0 ? nullptr : name_of_call(other->call);
      const bool sleeps = call != nullptr && std::string(call) == "clock_nanosleep";
      slept += other->does == ThreadDoes::kWaits && sleeps ? 1 : 0;
      still += other->has_moved ? 0 : 1;
      usleep(5000);
    }
    EXPECT_GE(ran, 19);
    EXPECT_GE(slept, 18);
    EXPECT_GE(still, 15);
  });
}

// Touches new memory, and makes calls that keep the kernel busy.
TEST(ThreadTable, CountsWhatThreadsCostTheKernel) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  constexpr size_t kBytes = 1u << 22;
  const Worker costly([](const std::atomic<bool>& ends) {
    while (!ends) {
      void* const fresh =
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      madvise(fresh, kBytes, MADV_NOHUGEPAGE);
      for (size_t i = 0; i < kBytes; i += 4096) static_cast<volatile char*>(fresh)[i] = 1;
      munmap(fresh, kBytes);
    }
  });
  const Worker frugal(spin);
  look_from_elsewhere([&](ThreadTable& table, int32_t self) {
    uint64_t faults[2] = {};
    uint64_t system_ns[2] = {};
    for (int i = 0; i < 100; ++i) {
      table.look(self);
      const SampledThread* const both[] = {table.find(costly.tid()), table.find(frugal.tid())};
      for (size_t which = 0; which < 2; ++which) {
        ASSERT_NE(both[which], nullptr);
        faults[which] += both[which]->faults;
        system_ns[which] += both[which]->system_ns;
      }
      usleep(5000);
    }
    EXPECT_GT(faults[0], 5000u);
    EXPECT_LT(faults[1], 100u);
    EXPECT_GT(system_ns[0], 30'000'000u);
    EXPECT_LT(system_ns[1], system_ns[0]);
  });
}

TEST(ThreadTable, FollowsThreadsThatComeAndGo) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  look_from_elsewhere([](ThreadTable& table, int32_t self) {
    table.look(self);
    const size_t before = table.count();
    int32_t tid = 0;
    {
      const Worker one(sleep_on);
      tid = one.tid();
      for (int i = 0; i < 8; ++i) table.look(self);
      EXPECT_NE(table.find(tid), nullptr);
    }
    // A thread that was joined is listed until the kernel has removed it.
    for (int i = 0; i < 20'000 && table.find(tid) != nullptr; ++i) {
      usleep(1000);
      table.look(self);
    }
    EXPECT_EQ(table.find(tid), nullptr);
    EXPECT_EQ(table.count(), before);
  });
}

// There are not enough for each thread to have some of its own.
TEST(ThreadTable, FewFilesSufficeForManyThreads) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit few = {64, files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  look_from_elsewhere([](ThreadTable& table, int32_t self) {
    const auto nap = [](const std::atomic<bool>& ends) {
      while (!ends) usleep(20'000);
    };
    std::vector<std::unique_ptr<Worker>> all;
    for (int i = 0; i < 60; ++i) all.push_back(std::make_unique<Worker>(nap));
    for (int i = 0; i < 40; ++i) {
      table.look(self);
      for (size_t at = 0; at < table.count(); ++at) {
        if (ThreadClock& clock = table.threads()[at].clock; !clock.is_tried) {
          open_clock(&clock, table.threads()[at].tid, true);
        }
      }
    }
    const Worker late(sleep_on);
    const auto sees_late = [&] { return table.find(late.tid()) != nullptr; };
    for (int i = 0; i < 20'000 && !sees_late(); ++i) table.look(self);
    EXPECT_TRUE(sees_late());
    std::vector<int32_t> tids;
    for (const auto& one : all) {
      tids.push_back(one->tid());
      const SampledThread* const thread = table.find(one->tid());
      ASSERT_NE(thread, nullptr);
      EXPECT_NE(thread->does, ThreadDoes::kEnded);
    }
    all.clear();
    const auto sees_some = [&] {
      return std::any_of(tids.begin(), tids.end(),
                         [&](int32_t tid) { return table.find(tid) != nullptr; });
    };
    for (int i = 0; i < 20'000 && sees_some(); ++i) {
      usleep(1000);
      table.look(self);
    }
    EXPECT_FALSE(sees_some());
  });
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
}

TEST(ThreadTable, AThreadWithTheNumberOfAnEndedOneIsSeen) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  const int next = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
  if (next < 0) GTEST_SKIP() << "the system does not let a test choose the numbers of threads";
  close(next);
  look_from_elsewhere([](ThreadTable& table, int32_t self) {
    int32_t tid = 0;
    {
      const Worker first(sleep_on);
      tid = first.tid();
      for (int i = 0; i < 8; ++i) table.look(self);
      ASSERT_NE(table.find(tid), nullptr);
    }
    std::unique_ptr<Worker> second;
    for (int i = 0; i < 1000 && (!second || second->tid() != tid); ++i) {
      second.reset();
      std::ofstream("/proc/sys/kernel/ns_last_pid") << tid - 1;
      second = std::make_unique<Worker>(spin);
    }
    if (second->tid() != tid) return;  // other programs took the number each time
    const auto is_seen = [&] {
      const SampledThread* const thread = table.find(tid);
      return thread != nullptr &&
             (thread->does == ThreadDoes::kRuns || thread->does == ThreadDoes::kQueues);
    };
    for (int i = 0; i < 1000 && !is_seen(); ++i) {
      usleep(1000);
      table.look(self);
    }
    EXPECT_TRUE(is_seen());
  });
}

TEST(PythonLayout, IsKnownForEveryVersionFrom38To312) {
  OwnMemory memory;
  if (!memory.begin()) GTEST_SKIP() << kNotHere;
  PythonLayout own = {};
  for (uint32_t minor = 8; minor <= 12; ++minor) {
    const PythonLayout* layout = find_python_layout(memory, 0, 0x300 | minor, &own);
    ASSERT_NE(layout, nullptr) << minor;
    EXPECT_EQ(layout->has_addresses(), minor >= 11);
  }
  EXPECT_EQ(find_python_layout(memory, 0, 0x307, &own), nullptr);
  EXPECT_EQ(find_python_layout(memory, 0, 0x363, &own), nullptr);
  // From 3.13 on the memory itself must say that it is the runtime.
  const char nothing[1024] = {};
  const auto address = reinterpret_cast<uint64_t>(nothing);
  EXPECT_EQ(find_python_layout(memory, address, 0x30d, &own), nullptr);
}

}  // namespace
}  // namespace xsp::process

#include "process/worker/placement.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace xsp::process {
namespace {

std::set<int> processors_of(pid_t thread) {
  cpu_set_t allowed;
  std::set<int> numbers;
  if (sched_getaffinity(thread, sizeof allowed, &allowed) != 0) return numbers;
  for (size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) numbers.insert(static_cast<int>(i));
  }
  return numbers;
}

// An emulator of processors has threads of its own in the process.
std::set<pid_t> threads() {
  std::set<pid_t> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    numbers.insert(static_cast<pid_t>(std::stol(entry.path().filename())));
  }
  return numbers;
}

// A thread that sleeps until the test ends.
class Sleeper {
 public:
  Sleeper() : thread_([this] { sleep(); }) {
    while (id_ == 0) std::this_thread::yield();
  }
  ~Sleeper() {
    is_over_ = true;
    is_over_.notify_all();
    thread_.join();
  }
  pid_t id() const { return id_; }

 private:
  void sleep() {
    id_ = static_cast<pid_t>(syscall(SYS_gettid));
    is_over_.wait(false);
  }
  std::atomic<pid_t> id_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

class PlacementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (all.size() < 2) GTEST_SKIP() << "this process may use one processor only";
  }
  const std::set<int> all = processors_of(0);
};

TEST_F(PlacementTest, ThreadsHaveOneProcessorEachWhileItExistsAndAllOfThemAfterwards) {
  const Sleeper sleeper;
  std::set<std::set<int>> seen;
  for (unsigned first = 0; first < all.size(); ++first) {
    {
      const Placement placement(first);
      std::set<int> before;
      for (const pid_t thread : threads()) {
        EXPECT_EQ(processors_of(thread).size(), 1u);
        EXPECT_NE(processors_of(thread), before);
        before = processors_of(thread);
      }
      seen.insert(processors_of(0));
    }
    EXPECT_EQ(processors_of(0), all);
    EXPECT_EQ(processors_of(sleeper.id()), all);
  }
  EXPECT_EQ(seen.size(), all.size());
}

TEST_F(PlacementTest, AThreadThatWasPlacedByItsOwnerStaysThere) {
  const Sleeper sleeper;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(*all.rbegin()), &one);
  ASSERT_EQ(sched_setaffinity(sleeper.id(), sizeof one, &one), 0);
  { const Placement placement(0); }
  EXPECT_EQ(processors_of(sleeper.id()), std::set<int>{*all.rbegin()});
}

TEST_F(PlacementTest, AThreadThatIsStartedMeanwhileIsFreedToo) {
  std::optional<Placement> placement(std::in_place, 1);
  const Sleeper sleeper;
  EXPECT_EQ(processors_of(sleeper.id()).size(), 1u);
  placement.reset();
  EXPECT_EQ(processors_of(sleeper.id()), all);
}

TEST(CoresFirst, TheSecondProcessorsOfTheCoresComeLast) {
  EXPECT_EQ(cores_first({{0, 0}, {1, 0}, {2, 2}, {3, 2}}), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(cores_first({{4, 4}, {5, 5}}), (std::vector<int>{4, 5}));
  EXPECT_EQ(cores_first({}), std::vector<int>{});
}

}  // namespace
}  // namespace xsp::process

// Tests stacks of compiled code, both of running threads, which the kernel notes, and of waiting
// threads.
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "process/sample/native_place.h"
#include "process/sample/testing.h"
#include "process/sample/unwinder.h"
#include "shared/base/clock.h"

extern "C" int chain_enter(void (*call)(void* context), void* context);

namespace xsp::process {
namespace {

using trace::ThreadDoes;

#define CHAIN __attribute__((noinline, noclone))

volatile double sink;

CHAIN double spins(const std::atomic<bool>& ends) {
  double sum = 0;
  while (!ends) sum += sink;
  return sum;
}
CHAIN double sleeps(const std::atomic<bool>& ends) {
  while (!ends) usleep(200'000);
  return sink;
}
using Innermost = double (*)(const std::atomic<bool>& ends);
CHAIN __attribute__((optimize("omit-frame-pointer"))) double without_pointer(
    Innermost work, const std::atomic<bool>& ends) {
  return work(ends) + sink;
}
CHAIN __attribute__((optimize("no-omit-frame-pointer"))) double with_pointer(
    Innermost work, const std::atomic<bool>& ends) {
  return without_pointer(work, ends) + sink;
}
CHAIN double begins(Innermost work, const std::atomic<bool>& ends) {
  return with_pointer(work, ends) + sink;
}

uint64_t address_of(const void* function) { return reinterpret_cast<uint64_t>(function); }
const std::vector<uint64_t> kChain = {address_of(reinterpret_cast<void*>(without_pointer)),
                                      address_of(reinterpret_cast<void*>(with_pointer)),
                                      address_of(reinterpret_cast<void*>(begins))};

bool has_clocks() {
  ThreadClock clock = {};
  const bool is_open = open_clock(&clock, gettid(), true);
  close_clock(&clock);
  return is_open;
}

// Gives a test the sampler's view of compiled code. A test uses it on a thread of its own, as the
// sampler does.
class Native {
 public:
  Native() {
    own_.begin();
    is_on_ = unwinder_->begin(&own_, modules_.get());
    modules_->refresh(
        clock_ns(CLOCK_MONOTONIC), [](void*, uint32_t, const char*) {}, nullptr);
  }
  ~Native() { unwinder_->end(); }
  bool is_on() const { return is_on_; }

  // Returns the functions of a stack, the innermost first; 0: not known.
  std::vector<uint64_t> functions(const NativeStart& start) {
    std::vector<NativeFrame> frames(kNativeDepthMax);
    const size_t count =
        unwinder_->unwind(start, 0, 0, known_.data(), known_.size(), frames.data());
    frames.resize(count);
    known_ = frames;
    std::vector<uint64_t> all;
    for (size_t i = 0; i < count; ++i) {
      uint64_t first = 0;
      uint64_t end = 0;
      unwinder_->find_function(frames[i].address - (i > 0 ? 1 : 0), &first, &end);
      all.push_back(first);
    }
    return all;
  }
  int module_of(uint64_t address) const { return modules_->find(address); }
  void forget() { known_.clear(); }

 private:
  OwnMemory own_;
  std::unique_ptr<Modules> modules_ = std::make_unique<Modules>();
  std::unique_ptr<Unwinder> unwinder_ = std::make_unique<Unwinder>();
  std::vector<NativeFrame> known_;
  bool is_on_ = false;
};

// Asks again now and then, as each look of the sampler does.
bool wait_for_note(ThreadClock* clock, NativeNote* note) {
  for (int i = 0; i < 2000; ++i) {
    if (i % 10 == 0) ask_clock(clock);
    usleep(1000);
    if (latest_note(clock, note)) return true;
  }
  return false;
}

bool has_chain(const std::vector<uint64_t>& functions) {
  return std::search(functions.begin(), functions.end(), kChain.begin(), kChain.end()) !=
         functions.end();
}

// Counts the looks that found the expected functions, until there are enough. A busy machine
// sometimes hides them, and so does a sanitizer, whose own functions lie below the computing one.
constexpr int kEnough = 15;
template <typename Look>
int found_by(const Look& look) {
  int found = 0;
  for (int i = 0; i < 200 && found < kEnough; ++i) found += look() ? 1 : 0;
  return found;
}

TEST(Native, AThreadThatRunsHasItsWholeStack) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  if (!has_clocks()) GTEST_SKIP() << "perf_event_open is forbidden here";
  const Worker busy([](const std::atomic<bool>& ends) { begins(spins, ends); });
  from_elsewhere([&] {
    Native native;
    if (!native.is_on()) return;
    const auto note = std::make_unique<NativeNote>();
    ThreadClock clock = {};
    ASSERT_TRUE(open_clock(&clock, busy.tid(), true));
    const uint64_t spinning = address_of(reinterpret_cast<void*>(spins));
    EXPECT_EQ(found_by([&] {  // the callers are cached from the second look on
                if (!wait_for_note(&clock, note.get())) return false;
                const std::vector<uint64_t> functions = native.functions(note->start);
                return std::find(functions.begin(), functions.end(), spinning) != functions.end() &&
                       has_chain(functions);
              }),
              kEnough);
    // Without a copy, the whole stack is read from memory.
    EXPECT_EQ(found_by([&] {
                if (!wait_for_note(&clock, note.get())) return false;
                note->start.size = 0;
                native.forget();
                return has_chain(native.functions(note->start));
              }),
              kEnough);
    close_clock(&clock);
  });
}

TEST(Native, AThreadThatWaitsHasItToo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer's functions around a call need a register that nobody saved";
#endif
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  const Worker idle([](const std::atomic<bool>& ends) { begins(sleeps, ends); });
  from_elsewhere([&] {
    Native native;
    const auto table = std::make_unique<ThreadTable>();
    table->begin();
    if (!native.is_on()) return;
    EXPECT_EQ(found_by([&] {
                usleep(5000);
                table->look(gettid());
                const SampledThread* thread = table->find(idle.tid());
                if (thread == nullptr || thread->does != ThreadDoes::kWaits || thread->stack == 0) {
                  return false;
                }
                NativeStart start = {};
                start.registers[kStackPointer] = thread->stack;
                start.registers[kProgramCounter] = thread->counter;
                start.known = 1u << kStackPointer | 1u << kProgramCounter;
                // A function that needs a register which was not saved ends the known part of the
                // stack.
                const std::vector<uint64_t> functions = native.functions(start);
                return std::find(functions.begin(), functions.end(), kChain[0]) != functions.end();
              }),
              kEnough);
  });
}

TEST(Native, ALibraryWithoutSymbolsIsNoHindrance) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  if (!has_clocks()) GTEST_SKIP() << "perf_event_open is forbidden here";
  const Worker busy([](const std::atomic<bool>& ends) {
    const auto call = [](void* context) {
      begins(spins, *static_cast<const std::atomic<bool>*>(context));
    };
    chain_enter(call, const_cast<std::atomic<bool>*>(&ends));
  });
  from_elsewhere([&] {
    Native native;
    if (!native.is_on()) return;
    const auto note = std::make_unique<NativeNote>();
    ThreadClock clock = {};
    ASSERT_TRUE(open_clock(&clock, busy.tid(), true));
    std::vector<uint64_t> functions;
    found_by([&] {  // the first note may be of the thread on its way there
      if (!wait_for_note(&clock, note.get())) return false;
      native.forget();
      functions = native.functions(note->start);
      return has_chain(functions);
    });
    close_clock(&clock);
    const uint64_t enter = address_of(reinterpret_cast<void*>(chain_enter));
    const int library = native.module_of(enter);
    const auto in_library = std::count_if(functions.begin(), functions.end(), [&](uint64_t one) {
      return native.module_of(one) == library;
    });
    EXPECT_EQ(in_library, 3);
    EXPECT_NE(std::find(functions.begin(), functions.end(), enter), functions.end());
    EXPECT_TRUE(has_chain(functions));
  });
}

// The first thread of a process may end before the others do.
TEST(Native, ModulesAreFoundWithoutTheFirstThread) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] {
      usleep(50'000);
      auto modules = std::make_unique<Modules>();
      modules->refresh(
          clock_ns(CLOCK_MONOTONIC), [](void*, uint32_t, const char*) {}, nullptr);
      _exit(modules->find(kChain[0]) >= 0 ? 0 : 1);
    }).detach();
    syscall(SYS_exit, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Native, RegistersThatMakeNoSenseHaveNoCallers) {
  if (OwnMemory memory; !memory.begin()) GTEST_SKIP() << kNotHere;
  from_elsewhere([] {
    Native native;
    if (!native.is_on()) return;
    const std::vector<uint8_t> bytes(kStackCopyBytes, 0xa5);
    for (const uint64_t sp : {uint64_t{0}, uint64_t{8}, UINT64_MAX - 64, uint64_t{0x1234567}}) {
      for (const uint64_t ip : {uint64_t{0}, kChain[0] + 4, kChain[1] + 4, UINT64_MAX}) {
        NativeStart start = {};
        start.known = (1u << kRegistersMax) - 1;
        start.registers[kStackPointer] = sp;
        start.registers[kProgramCounter] = ip;
        start.stack = sp;
        start.bytes = bytes.data();
        start.size = bytes.size();
        native.forget();
        EXPECT_LE(native.functions(start).size(), 1u) << std::hex << sp << " " << ip;
      }
    }
  });
}

// Tests the clock of a running thread.
class ThreadClockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_clocks()) GTEST_SKIP() << "perf_event_open is forbidden here";
  }
  void TearDown() override { close_clock(&clock); }

  const Worker busy{[](const std::atomic<bool>& ends) { begins(spins, ends); }};
  const std::unique_ptr<NativeNote> note = std::make_unique<NativeNote>();
  ThreadClock clock = {};
};

TEST_F(ThreadClockTest, NotesOnceForEachQuestion) {
  ASSERT_TRUE(open_clock(&clock, busy.tid(), true));
  EXPECT_FALSE(latest_note(&clock, note.get()));
  int64_t before_ns = clock_ns(CLOCK_MONOTONIC);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(wait_for_note(&clock, note.get())) << i;
    EXPECT_GE(note->time_ns, before_ns);
    EXPECT_NE(note->start.registers[kProgramCounter], 0u);
    before_ns = note->time_ns;
    EXPECT_FALSE(latest_note(&clock, note.get()));
  }
  usleep(20'000);
  EXPECT_FALSE(has_note(clock));
}

// Whoever reads a note before the kernel stops the clock, and asks at once, is not forgotten.
TEST_F(ThreadClockTest, AQuestionJustAfterANoteIsAnswered) {
  ASSERT_TRUE(open_clock(&clock, busy.tid(), false));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(ask_clock(&clock));
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + 10'000'000;
    while (!has_note(clock) && clock_ns(CLOCK_MONOTONIC) < until_ns) {
    }
    ASSERT_TRUE(latest_note(&clock, note.get()) || wait_for_note(&clock, note.get())) << i;
  }
  usleep(20'000);
  EXPECT_FALSE(has_note(clock));
}

TEST_F(ThreadClockTest, WithoutAStackItNotesAddresses) {
  ASSERT_TRUE(open_clock(&clock, busy.tid(), false));
  ASSERT_TRUE(wait_for_note(&clock, note.get()));
  EXPECT_EQ(note->start.known, 0u);
  EXPECT_NE(note->start.registers[kProgramCounter], 0u);
}

TEST(ThreadClock, AThreadThatSleepsIsNotedWhenItGoesOn) {
  if (!has_clocks()) GTEST_SKIP() << "perf_event_open is forbidden here";
  const auto note = std::make_unique<NativeNote>();
  std::atomic<bool> goes_on{false};
  const Worker idle([&](const std::atomic<bool>& ends) {
    while (!goes_on) usleep(300'000);
    begins(spins, ends);
  });
  ThreadClock clock = {};
  usleep(20'000);
  ASSERT_TRUE(open_clock(&clock, idle.tid(), true));
  EXPECT_TRUE(ask_clock(&clock));
  usleep(100'000);
  EXPECT_FALSE(has_note(clock));
  goes_on = true;
  for (int i = 0; i < 2000 && !has_note(clock); ++i) usleep(1000);
  EXPECT_TRUE(latest_note(&clock, note.get()));
  close_clock(&clock);
}

// Forbids perf_event_open, as containers do.
void forbid_clocks() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST(ThreadClock, IsNotThereWhereTheSystemForbidsIt) {
  if (!has_clocks()) GTEST_SKIP() << "perf_event_open is forbidden here";
  const pid_t child = fork();
  if (child == 0) {
    forbid_clocks();
    ThreadClock clock = {};
    const bool is_refused = !open_clock(&clock, gettid(), true) && errno == EPERM;
    NativeNote note = {};
    const bool is_quiet = !ask_clock(&clock) && !latest_note(&clock, &note) && !has_note(clock);
    close_clock(&clock);
    _exit(is_refused && is_quiet ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace xsp::process

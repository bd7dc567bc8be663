// The emitting thread does not allocate, lock or call the system. This program replaces functions
// of the C library with its own to check that, and also to make clocks jump.
//
// Sanitizers replace the same functions, so these tests are only in builds without sanitizers.
#include <gtest/gtest.h>

#ifndef XSP_SANITIZED

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "process/record/testing.h"

namespace {

thread_local bool is_watched = false;
thread_local int allocations = 0;
thread_local int locks = 0;
std::atomic<int64_t> realtime_step_s{0};

void count(int* counter) {
  if (is_watched) ++*counter;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* at, size_t size);

__attribute__((visibility("default"))) void* malloc(size_t size) {
  count(&allocations);
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(size_t number, size_t size) {
  count(&allocations);
  return __libc_calloc(number, size);
}
__attribute__((visibility("default"))) void* realloc(void* at, size_t size) {
  count(&allocations);
  return __libc_realloc(at, size);
}
__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const Lock lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  count(&locks);
  return lock(mutex);
}
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME) now->tv_sec += realtime_step_s;
  return result;
}

}  // extern "C"

namespace xsp::process {
namespace {

xsp_site quiet_site = XSP_SITE(XSP_LEVEL_LAYER, "quiet");

// Emits in every way, often enough that the ring is full at times.
void emit_all_ways(uint32_t site, uint32_t key) {
  for (int i = 0; i < 100'000; ++i) {
    xsp_span span = xsp_begin(&quiet_site);
    xsp_span_int(&span, key, i);
    if (i % 8 == 0) {
      xsp_span_double(&span, key, 0.5);
      xsp_span_text(&span, key, "some text that does not fit into one slot, but takes two of them");
    }
    xsp_end(&span);
    if (i % 8 == 0) {
      const xsp_value value = {key, XSP_VALUE_COUNTER, {1}};
      xsp_complete_span given = {};
      given.struct_size = sizeof given;
      given.site_id = site;
      given.values = &value;
      given.value_count = 1;
      given.correlation_id = 3;
      given.device = 1;
      xsp_emit(&given);
    }
  }
}

TEST(Quiet, TheInterposedFunctionsAreTheOnesCalled) {
  is_watched = true;
  free(malloc(1));
  xsp_counts ignored = {};
  xsp_get_counts(&ignored);  // takes a lock, inside the library
  is_watched = false;
  EXPECT_GE(allocations, 1);
  EXPECT_GE(locks, 1);
}

TEST(Quiet, EmittingAllocatesNothingAndLocksNothing) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path(), 1u << 16), 0);
  const uint32_t site = xsp_intern_site(XSP_LEVEL_KERNEL, "given", nullptr);
  const uint32_t key = xsp_intern_key("key");
  emit_all_ways(site, key);  // the first span joins the recording
  allocations = locks = 0;
  is_watched = true;
  emit_all_ways(site, key);
  is_watched = false;
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_GT(counts().dropped_ring, 0u) << "the full ring was among the ways";
}

// From here on every system call of this thread except write kills the process.
bool forbid_system_calls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter = {sizeof program / sizeof program[0], program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr int kNoFilter = 77;

// Emits after system calls were forbidden. Returns 0 if emitting made none.
int emit_without_system(const std::string& path, bool breaks_the_rule) {
  if (start(path, 1u << 16) != 0) return 1;
  const uint32_t site = xsp_intern_site(XSP_LEVEL_KERNEL, "given", nullptr);
  const uint32_t key = xsp_intern_key("key");
  std::atomic<int> result{-1};
  std::thread([&] {
    emit_all_ways(site, key);
    const bool is_forbidden = forbid_system_calls();
    emit_all_ways(site, key);
    if (breaks_the_rule) getppid();
    result = is_forbidden ? 0 : kNoFilter;
    for (;;) {
    }
  }).detach();
  while (result < 0) usleep(1000);
  return result;
}

TEST(Quiet, EmittingCallsNothingOfTheSystem) {
  Scratch scratch;
  const int status = in_child([&] { return emit_without_system(scratch.path(), false); });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) {
    GTEST_SKIP() << "calls of the system cannot be filtered here";
  }
  EXPECT_TRUE(is_success(status)) << status;
  const int broken = in_child([&] { return emit_without_system(scratch.path("b"), true); });
  EXPECT_TRUE(WIFSIGNALED(broken)) << "the rule is enforced";
}

TEST(Clock, AStepOfTheSystemsClockIsCountedAndMovesNoSpan) {
  Scratch scratch;
  realtime_step_s = 0;
  ASSERT_EQ(start(scratch.path()), 0);
  for (int i = 0; i < 10; ++i) {
    xsp_span span = xsp_begin(&quiet_site);
    if (i == 3) realtime_step_s = 3600;
    if (i == 6) realtime_step_s = -3600;
    if (i == 3 || i == 6) xsp_flush();
    xsp_end(&span);
  }
  const int64_t now_ns = xsp_now_ns();
  ASSERT_EQ(xsp_stop(), 0);
  realtime_step_s = 0;
  EXPECT_EQ(counts().clock_jumps, 2u);
  const trace::Reader reader = open_trace(scratch.path());
  EXPECT_EQ(loss(reader, "clock jump"), 2u);
  EXPECT_LT(reader.last_ns() - reader.first_ns(), 60'000'000'000);
  EXPECT_LT(std::abs(now_ns - reader.last_ns()), 60'000'000'000);
  for (const ReadSpan& span : read_spans(reader)) {
    EXPECT_GE(span.start_ns, reader.first_ns());
    EXPECT_LE(span.end_ns, reader.last_ns());
  }
}

}  // namespace
}  // namespace xsp::process

#endif  // XSP_SANITIZED

#include "process/sample/sampler.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "process/record/own_threads.h"
#include "process/record/watcher.h"
#include "process/sample/look.h"
#include "process/sample/own_files.h"
#include "shared/base/clock.h"
#include "shared/base/keep_errno.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

// The share of one processor that looks may take. If they take more, the sampler sleeps longer
// between them.
constexpr double kShareMax = 0.008;
constexpr int64_t kFlushNs = 200'000'000;
constexpr int64_t kPauseNs = 50'000'000;  // interval while nothing is recorded
constexpr uint32_t kLooksOfCost = 16;
constexpr int64_t kFirstNs = 5'000'000;  // interval between looks until their cost is known
constexpr int64_t kSecondNs = 1'000'000'000;
struct Sampler {
  pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;  // guards the beginning and the end
  pthread_mutex_t log = PTHREAD_MUTEX_INITIALIZER;      // guards the looker's log; taken last
  bool is_allowed = false;
  uint32_t quits = 0;  // a futex
  pthread_t thread = {};
  bool has_thread = false;
  uint32_t rate_hz = 0;
  PythonSymbols python;
  Looker* looker = nullptr;
  uint32_t random = 0x9e3779b9;
  int64_t written_ns = 0;
};
Sampler sampler;

// Returns a factor between 0.75 and 1.25, so that looks do not fall into step with a loop of the
// program.
double jitter() {
  sampler.random ^= sampler.random << 13;
  sampler.random ^= sampler.random >> 17;
  sampler.random ^= sampler.random << 5;
  return 0.75 + static_cast<double>(sampler.random >> 8) * (0.5 / (1u << 24));
}

// Sleeps until that moment or until the sampler is to end. Returns whether it is to end. It makes
// one system call, because it runs at each look.
bool sleep_until(int64_t moment_ns) {
  const timespec until = {moment_ns / kSecondNs, moment_ns % kSecondNs};
  while (__atomic_load_n(&sampler.quits, __ATOMIC_ACQUIRE) == 0) {
    const long error = syscall(SYS_futex, &sampler.quits, FUTEX_WAIT_BITSET_PRIVATE, 0, &until,
                               nullptr, FUTEX_BITSET_MATCH_ANY);
    if (error != 0 && errno == ETIMEDOUT) return false;
  }
  return true;
}

void wake_to_quit() {
  __atomic_store_n(&sampler.quits, 1u, __ATOMIC_RELEASE);
  syscall(SYS_futex, &sampler.quits, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void tell_refusal(uint32_t site, int error) {
  char text[512];
  snprintf(text, sizeof text,
           "stacks of compiled code were taken of waiting threads alone, as the kernel refuses "
           "perf_event_open (%s): set kernel.perf_event_paranoid to 2, and let a container use "
           "perf_event_open",
           error == EACCES ? "EACCES" : "EPERM");
  xsp_site_attribute(site, "native_stacks", text);
}

void* sampler_main(void*) {
  Looker& looker = *sampler.looker;
  const int32_t self = gettid();
  pthread_setname_np(pthread_self(), "xsp-sampler");
  if (!own_files()) {
    xsp_count_loss("stacks", "a table of files of its own is not to be had", 1);
    return nullptr;
  }
  looker.begin();
  const int64_t period_ns = kSecondNs / sampler.rate_hz;
  // The cost of a look is the mean of several looks; the first ones cost more than the others.
  uint32_t looks = 0;
  int64_t before_used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  int64_t cost_ns = 0;
  int64_t least_ns = kFirstNs;
  int64_t next_ns = clock_ns(CLOCK_MONOTONIC);
  int64_t before_ns = xsp_now_ns();
  while (!sleep_until(next_ns)) {
    const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    int64_t wait_ns = kPauseNs;
    const int64_t now_ns = xsp_now_ns();
    if (xsp_levels() != 0) {
      pthread_mutex_lock(&sampler.log);
      looker.complete_look();
      pthread_mutex_unlock(&sampler.log);
      looker.look_at_threads(self);
      pthread_mutex_lock(&sampler.log);
      looker.look_at_stacks(now_ns, now_ns - before_ns);
      pthread_mutex_unlock(&sampler.log);
      if (++looks % kLooksOfCost == 0) {
        const int64_t used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        cost_ns = (cost_ns + used_ns - before_used_ns) / 2;
        before_used_ns = used_ns;
        least_ns = static_cast<int64_t>(static_cast<double>(cost_ns) / (kLooksOfCost * kShareMax));
      }
      wait_ns = period_ns > least_ns ? period_ns : least_ns;
      wait_ns = static_cast<int64_t>(static_cast<double>(wait_ns) * jitter());
    }
    before_ns = now_ns;
    next_ns = began_ns + wait_ns;
  }
  pthread_mutex_lock(&sampler.log);
  looker.complete_look();
  pthread_mutex_unlock(&sampler.log);
  looker.leave_threads();
  return nullptr;
}

bool begin_thread() {
  sampler.quits = 0;
  sampler.has_thread = start_own_thread(sampler_main, &sampler.thread) == 0;
  return sampler.has_thread;
}

void end_thread() {
  wake_to_quit();
  pthread_join(sampler.thread, nullptr);
  sampler.has_thread = false;
}

void free_memory() {
  if (sampler.looker != nullptr) munmap(sampler.looker, sizeof(Looker));
  sampler.looker = nullptr;
}

void begin_sampling() {
  void* memory = mmap(nullptr, sizeof(Looker), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  sampler.looker = new (memory) Looker;
  sampler.looker->prepare(sampler.python);
  sampler.written_ns = clock_ns(CLOCK_MONOTONIC);
  if (begin_thread()) return;
  free_memory();
  sampler.is_allowed = false;
}

}  // namespace

void prepare_sampling(uint32_t rate_hz) {
  const KeepErrno keep_errno;
  if (rate_hz != 0) sampler.python = find_python();
  pthread_mutex_lock(&sampler.control);
  sampler.rate_hz = rate_hz;
  sampler.is_allowed = rate_hz != 0;
  pthread_mutex_unlock(&sampler.control);
}

void keep_sampling() {
  const KeepErrno keep_errno;
  // A thread that ends the sampling holds the lock: never wait for it here.
  if (pthread_mutex_trylock(&sampler.control) != 0) return;
  if (sampler.looker == nullptr && sampler.is_allowed) begin_sampling();
  const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  const bool is_due = sampler.looker != nullptr && now_ns - sampler.written_ns >= kFlushNs;
  if (sampler.looker != nullptr && pthread_mutex_trylock(&sampler.log) == 0) {
    if (is_due || sampler.looker->log().is_filling()) {
      sampler.looker->log().flush();
      sampler.written_ns = now_ns;
    }
    pthread_mutex_unlock(&sampler.log);
  }
  pthread_mutex_unlock(&sampler.control);
}

void pause_sampling() {
  const KeepErrno keep_errno;
  pthread_mutex_lock(&sampler.control);
  if (sampler.looker != nullptr && sampler.has_thread) end_thread();
}

void resume_sampling() {
  const KeepErrno keep_errno;
  // A new thread, with a file table of its own, continues here.
  if (sampler.looker != nullptr) begin_thread();
  pthread_mutex_unlock(&sampler.control);
}

void end_sampling(uint32_t site) {
  const KeepErrno keep_errno;
  pthread_mutex_lock(&sampler.control);
  sampler.is_allowed = false;
  if (sampler.looker != nullptr) {
    if (sampler.has_thread) end_thread();
    sampler.looker->log().flush();
    sampler.looker->tell_losses();
    if (sampler.looker->refusal() != 0) tell_refusal(site, sampler.looker->refusal());
    sampler.looker->end();
    free_memory();
  }
  pthread_mutex_unlock(&sampler.control);
}

void forget_sampling() {
  forget_unwinding();
  free_memory();
  pthread_mutex_init(&sampler.control, nullptr);
  pthread_mutex_init(&sampler.log, nullptr);
}

}  // namespace xsp::process

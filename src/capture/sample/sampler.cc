#include "capture/sample/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "base/clock.h"
#include "base/keep_errno.h"
#include "capture/annotate/watcher.h"
#include "capture/sample/memory.h"
#include "capture/sample/python_walk.h"
#include "capture/sample/stack_log.h"
#include "capture/sample/threads.h"
#include "xsp/xsp.h"

namespace xsp::capture {
namespace {

using trace::LockState;
using trace::ThreadDoes;

// The share of one processor that looks may take. Where they take more, the sampler sleeps longer
// between them.
constexpr double kShareMax = 0.005;
constexpr int64_t kFlushNs = 200'000'000;
constexpr int64_t kPauseNs = 50'000'000;  // while nothing is recorded
constexpr uint32_t kLooksOfCost = 16;
constexpr int64_t kFirstNs = 5'000'000;  // between looks, until it is known
constexpr int64_t kSecondNs = 1'000'000'000;
// A lock's futexes lie in so many bytes from its beginning.
constexpr uint64_t kLockBytes = 256;

struct Memory {
  OwnMemory own;
  PythonWalk walk;
  ThreadTable threads;
  Modules modules;
  StackLog log;
  PythonFrame frames[kDepthMax];
  PythonCode codes[kDepthMax];
};

struct Sampler {
  pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;  // of beginning and ending
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;     // of `quits`
  pthread_mutex_t log = PTHREAD_MUTEX_INITIALIZER;      // of the memory's log, taken last
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
  bool is_allowed = false;
  bool quits = false;
  pthread_t thread = {};
  uint32_t rate_hz = 0;
  PythonSymbols python;
  Memory* memory = nullptr;
  uint32_t random = 0x9e3779b9;
  uint64_t id_offset = 0;  // of a thread's number, from what pthread_self() gives; 0: not known
  uint64_t cut = 0;
  int64_t written_ns = 0;
};
Sampler sampler;

// So that looks keep no time with what the program repeats: between 0.75 and 1.25.
double jitter() {
  sampler.random ^= sampler.random << 13;
  sampler.random ^= sampler.random >> 17;
  sampler.random ^= sampler.random << 5;
  return 0.75 + static_cast<double>(sampler.random >> 8) * (0.5 / (1u << 24));
}

// Before Python 3.11 an interpreter knows its threads by the C library's structures, in which the
// number of the thread is where this thread finds its own.
void find_id_offset() {
  constexpr uint64_t kFirst = 256;
  constexpr uint64_t kLast = 1280;
  const uint64_t self = static_cast<uint64_t>(pthread_self());
  const int32_t tid = gettid();
  sampler.id_offset = 0;
  for (uint64_t offset = kFirst; offset < kLast; offset += sizeof tid) {
    int32_t there = 0;
    if (!sampler.memory->own.read(self + offset, &there)) return;
    if (there != tid) continue;
    sampler.id_offset = offset;
    return;
  }
}

int32_t tid_of(const PythonThread& thread) {
  if (thread.native_id != 0) return thread.native_id;
  int32_t tid = 0;
  if (sampler.id_offset == 0 || thread.id == 0) return 0;
  return sampler.memory->own.read(thread.id + sampler.id_offset, &tid) ? tid : 0;
}

// The node of the innermost of memory.frames. The frames from the outermost on that are where they
// were at the last look have their nodes; of the others the code is read.
uint32_t name_frames(const SampledThread& thread, size_t count) {
  Memory& memory = *sampler.memory;
  size_t left = count;
  size_t known = thread.frame_count;
  uint32_t node = 0;
  while (left > 0 && known > 0 && !memory.walk.is_cut()) {
    const PythonFrame& before = thread.frames[known - 1];
    if (before.node == 0 || !before.is_at_same(memory.frames[left - 1])) break;
    node = memory.frames[left - 1].node = before.node;
    --left;
    --known;
  }
  // A frame whose code cannot be read takes those that it called with it.
  const size_t readable = memory.walk.read_codes(memory.frames, left, memory.codes);
  while (left-- > readable) {
    const uint32_t below =
        memory.log.node_of(memory.walk, node, memory.frames[left], memory.codes[left]);
    if (below == 0) break;
    node = memory.frames[left].node = below;
  }
  return node;
}

void look_at_python(const PythonThread& python, SampledThread* thread) {
  Memory& memory = *sampler.memory;
  const bool waits = thread->does == ThreadDoes::kWaits;
  thread->lock = LockState::kNone;
  if (waits && thread->wait >= python.lock && thread->wait < python.lock + kLockBytes) {
    thread->lock = LockState::kWanted;
  } else if (python.holds_lock) {
    thread->lock = LockState::kHeld;
  }
  if (!thread->has_moved) return;
  const size_t count = memory.walk.walk(python, thread->frames, thread->frame_count, memory.frames);
  if (memory.walk.is_cut()) ++sampler.cut;
  thread->node = name_frames(*thread, count);
  memcpy(thread->frames, memory.frames, count * sizeof memory.frames[0]);
  thread->frame_count = count;
}

void define_module(void* context, uint32_t index, const char* path) {
  Memory& memory = *static_cast<Memory*>(context);
  memory.log.define_module(index, memory.modules[index], path);
}

// Adds the function of compiled code that a running thread is in. Functions of the interpreter are
// left out: the Python frames stand for them.
void look_at_native(SampledThread* thread) {
  Memory& memory = *sampler.memory;
  const bool is_running = thread->does == ThreadDoes::kRuns || thread->does == ThreadDoes::kQueues;
  if (is_running) open_clock(&thread->clock, thread->tid);
  const uint64_t address = latest_address(&thread->clock);
  if (!is_running || address == 0) return;
  int module = memory.modules.find(address);
  if (module < 0) {
    memory.modules.refresh(clock_ns(CLOCK_MONOTONIC), define_module, &memory);
    module = memory.modules.find(address);
  }
  if (module < 0) return;
  const bool is_python = thread->node != 0 && sampler.python.evaluate != 0;
  const Module& in = memory.modules[static_cast<size_t>(module)];
  if (is_python && in.start <= sampler.python.evaluate && sampler.python.evaluate < in.end) return;
  thread->node = memory.log.native_node_of(thread->node, static_cast<uint32_t>(module),
                                           in.offset + (address - in.start));
}

void look_at_all_python() {
  Memory& memory = *sampler.memory;
  memory.walk.look();
  for (size_t i = 0; i < memory.walk.thread_count(); ++i) {
    const PythonThread& python = memory.walk.threads()[i];
    SampledThread* thread = memory.threads.find(tid_of(python));
    if (thread != nullptr) look_at_python(python, thread);
  }
}

void look(int32_t self) {
  Memory& memory = *sampler.memory;
  memory.threads.look(self);
  SampledThread* threads = memory.threads.threads();
  bool has_moved = false;
  for (size_t i = 0; i < memory.threads.count(); ++i) {
    if (!threads[i].has_moved) continue;
    has_moved = true;
    threads[i].call_text = memory.log.text_of_call(threads[i].call);
    threads[i].node = 0;
    threads[i].lock = LockState::kNone;
  }
  if (!has_moved) return;
  if (memory.walk.is_on()) look_at_all_python();
  for (size_t i = 0; i < memory.threads.count(); ++i) {
    if (threads[i].has_moved) look_at_native(&threads[i]);
  }
}

// Until the moment, or until it is to end; whether it is.
bool sleep_until(int64_t moment_ns) {
  const timespec until = {moment_ns / kSecondNs, moment_ns % kSecondNs};
  pthread_mutex_lock(&sampler.lock);
  int error = 0;
  while (!sampler.quits && error == 0) {
    error = pthread_cond_timedwait(&sampler.wake, &sampler.lock, &until);
  }
  const bool quits = sampler.quits;
  pthread_mutex_unlock(&sampler.lock);
  return quits;
}

void tell_losses() {
  Memory& memory = *sampler.memory;
  if (sampler.cut > 0) xsp_count_loss("stacks", "stack deeper than is kept", sampler.cut);
  if (memory.threads.dropped() > 0) {
    xsp_count_loss("stacks", "look at a thread beyond those kept", memory.threads.dropped());
  }
}

void* sampler_main(void*) {
  Memory& memory = *sampler.memory;
  const int32_t self = gettid();
  pthread_setname_np(pthread_self(), "xsp-sampler");
  if (!own_files()) {
    xsp_count_loss("stacks", "a table of files of its own is not to be had", 1);
    return nullptr;
  }
  if (!memory.own.begin()) {
    xsp_count_loss("stacks", "memory that may not be read", 1);
  } else if (memory.walk.begin(&memory.own, sampler.python)) {
    find_id_offset();
  } else if (sampler.python.runtime != 0) {
    xsp_count_loss("stacks", "Python of an unknown version", 1);
  }
  memory.threads.begin();
  const int64_t period_ns = kSecondNs / sampler.rate_hz;
  // The cost of a look is the mean of several; the first ones cost more than the others.
  uint32_t looks = 0;
  int64_t before_used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  int64_t cost_ns = 0;
  int64_t least_ns = kFirstNs;
  int64_t next_ns = clock_ns(CLOCK_MONOTONIC);
  int64_t before_ns = xsp_now_ns();
  while (!sleep_until(next_ns)) {
    int64_t wait_ns = kPauseNs;
    const int64_t now_ns = xsp_now_ns();
    if (xsp_levels() != 0) {
      pthread_mutex_lock(&sampler.log);
      look(self);
      memory.log.add_look(now_ns, now_ns - before_ns, memory.threads.threads(),
                          memory.threads.count());
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
    next_ns = clock_ns(CLOCK_MONOTONIC) + wait_ns;
  }
  return nullptr;
}

bool begin_thread() {
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&sampler.wake, &clock);
  pthread_condattr_destroy(&clock);
  // The program's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const int error = pthread_create(&sampler.thread, nullptr, sampler_main, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0;
}

void free_memory() {
  if (sampler.memory != nullptr) munmap(sampler.memory, sizeof(Memory));
  sampler.memory = nullptr;
}

void begin_sampling() {
  void* memory = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  sampler.memory = new (memory) Memory;
  sampler.memory->log.begin();
  sampler.quits = false;
  sampler.cut = 0;
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
  // Who ends the sampling waits for nothing that this thread does.
  if (pthread_mutex_trylock(&sampler.control) != 0) return;
  if (sampler.memory == nullptr && sampler.is_allowed) begin_sampling();
  const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  const bool is_due = sampler.memory != nullptr && now_ns - sampler.written_ns >= kFlushNs;
  if (sampler.memory != nullptr && pthread_mutex_trylock(&sampler.log) == 0) {
    if (is_due || sampler.memory->log.is_filling()) {
      sampler.memory->log.flush();
      sampler.written_ns = now_ns;
    }
    pthread_mutex_unlock(&sampler.log);
  }
  pthread_mutex_unlock(&sampler.control);
}

void end_sampling() {
  const KeepErrno keep_errno;
  pthread_mutex_lock(&sampler.control);
  sampler.is_allowed = false;
  if (sampler.memory != nullptr) {
    pthread_mutex_lock(&sampler.lock);
    sampler.quits = true;
    pthread_cond_signal(&sampler.wake);
    pthread_mutex_unlock(&sampler.lock);
    pthread_join(sampler.thread, nullptr);
    sampler.memory->log.flush();
    tell_losses();
    free_memory();
  }
  pthread_mutex_unlock(&sampler.control);
}

void forget_sampling() {
  free_memory();
  pthread_mutex_init(&sampler.control, nullptr);
  pthread_mutex_init(&sampler.lock, nullptr);
  pthread_mutex_init(&sampler.log, nullptr);
}

}  // namespace xsp::capture

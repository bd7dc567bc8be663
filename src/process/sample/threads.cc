#include "process/sample/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/record/own_threads.h"
#include "process/sample/own_files.h"

namespace xsp::process {
namespace {

using trace::LockState;
using trace::ThreadDoes;

constexpr char kTaskFolder[] = "/proc/self/task";
// The list is read again after this many looks, because the number of threads stays the same if a
// new thread replaces another.
constexpr uint32_t kLooksBetweenLists = 32;
constexpr uint32_t kLooksBetweenCounts = 4;
// A thread that ran for less than this has its cost read at a later look.
constexpr uint64_t kRanOfCostNs = 10'000'000;

int open_file(int32_t tid, const char* name) {
  char path[64];
  snprintf(path, sizeof path, "%s/%d/%s", kTaskFolder, static_cast<int>(tid), name);
  return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

// Opens a file that is read at each look. Returns -1 if too few files would be left.
int keep_file(int32_t tid, const char* name) {
  const int file = open_file(tid, name);
  if (file < 0 || has_spare_files(file)) return file;
  close(file);
  return -1;
}

// Reads the beginning of a small file, which may be open. Returns the number of bytes; 0: it cannot
// be read.
size_t read_file(int32_t tid, const char* name, int file, char* out, size_t size) {
  const int fd = file >= 0 ? file : open_file(tid, name);
  if (fd < 0) return 0;
  const ssize_t got = pread(fd, out, size - 1, 0);
  if (file < 0) close(fd);
  out[got > 0 ? got : 0] = '\0';
  return got > 0 ? static_cast<size_t>(got) : 0;
}

void begin_thread(int32_t tid, SampledThread* thread) {
  memset(thread, 0, sizeof *thread);
  thread->tid = tid;
  thread->call = -1;
  thread->turns_file = keep_file(tid, "schedstat");
  thread->call_file = keep_file(tid, "syscall");
  thread->cost_file = keep_file(tid, "stat");
}

void close_files(SampledThread* thread) {
  close_clock(&thread->clock);
  if (thread->turns_file >= 0) close(thread->turns_file);
  if (thread->call_file >= 0) close(thread->call_file);
  if (thread->cost_file >= 0) close(thread->cost_file);
}

bool is_ours(int32_t tid) {
  char name[32];
  return read_file(tid, "comm", -1, name, sizeof name) > 0 &&
         strncmp(name, kOwnThreadNames, sizeof kOwnThreadNames - 1) == 0;
}

// Returns whether the thread sleeps, on systems that do not tell its system call.
bool is_asleep(int32_t tid) {
  char text[256];
  if (read_file(tid, "stat", -1, text, sizeof text) == 0) return false;
  const char* name_end = strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] != 'R';
}

}  // namespace

void ThreadTable::begin() {
  count_ = 0;
  links_ = 0;
  looks_ = 0;
  dropped_ = 0;
  has_ended_ = false;
  const long ticks = sysconf(_SC_CLK_TCK);
  tick_ns_ = ticks > 0 ? 1'000'000'000u / static_cast<uint64_t>(ticks) : 0;
}

void ThreadTable::end() {
  for (size_t i = 0; i < count_; ++i) close_files(&threads_[i]);
  count_ = 0;
}

// The folder's link count changes with the number of threads.
bool ThreadTable::has_changed() {
  if (looks_ % kLooksBetweenCounts != 0 && !has_ended_) {
    ++looks_;
    return false;
  }
  struct stat status = {};
  const uint64_t links = stat(kTaskFolder, &status) == 0 ? status.st_nlink : 0;
  const bool is_due = looks_++ % kLooksBetweenLists == 0;
  const bool changed = links != links_ || has_ended_ || is_due;
  links_ = links;
  return changed;
}

SampledThread* ThreadTable::find(int32_t tid) {
  // The caller asks for the threads in about the same order each time.
  for (size_t i = 0; i < count_; ++i) {
    const size_t at = hint_ + i < count_ ? hint_ + i : hint_ + i - count_;
    if (threads_[at].tid != tid) continue;
    hint_ = at + 1 < count_ ? at + 1 : 0;
    return &threads_[at];
  }
  return nullptr;
}

void ThreadTable::add(int32_t tid) {
  SampledThread* thread = find(tid);
  if (thread == nullptr) {
    if (is_ours(tid)) return;
    if (count_ == kSampledThreadsMax) {
      ++dropped_;
      return;
    }
    thread = &threads_[count_++];
    begin_thread(tid, thread);
  } else if (thread->does == ThreadDoes::kEnded) {
    // Another thread has got the number meanwhile, or this one is just leaving.
    close_files(thread);
    begin_thread(tid, thread);
  }
  thread->is_there = true;
}

void ThreadTable::list(int32_t sampler) {
  const int fd = open(kTaskFolder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return;
  for (size_t i = 0; i < count_; ++i) threads_[i].is_there = false;
  hint_ = 0;
  for_each_name(fd, [this, sampler](const char* name) {
    const int32_t tid = atoi(name);
    if (tid > 0 && tid != sampler) add(tid);
  });
  close(fd);
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (!threads_[i].is_there) {
      close_files(&threads_[i]);
      continue;
    }
    if (kept != i) memcpy(&threads_[kept], &threads_[i], sizeof threads_[i]);
    ++kept;
  }
  // Where threads have ended, there is room for notes of those that had none.
  for (size_t i = 0; i < kept && kept < count_; ++i) {
    if (threads_[i].clock.pages == nullptr) threads_[i].clock.is_tried = false;
  }
  count_ = kept;
  hint_ = 0;
  has_ended_ = false;
}

// Parses "tid (name) state ...": the sixth number after the state counts the pages that the thread
// touched first, the eleventh is its time in the kernel. Returns whether the state is known to be
// running.
bool ThreadTable::read_cost(SampledThread* thread) {
  constexpr size_t kFaults = 6;
  constexpr size_t kSystem = 11;
  char text[512];
  if (read_file(thread->tid, "stat", thread->cost_file, text, sizeof text) == 0) {
    return false;
  }
  const char* const name_end = strrchr(text, ')');
  if (name_end == nullptr || strlen(name_end) < 4) return false;
  uint64_t numbers[kSystem + 1];
  char* next = text + (name_end + 3 - text);
  for (uint64_t& number : numbers) number = strtoull(next, &next, 10);
  const bool is_first = thread->cost_ran_ns == 0;
  if (!is_first) {
    thread->system_ns = (numbers[kSystem] - thread->system_ticks) * tick_ns_;
    thread->faults = numbers[kFaults] - thread->all_faults;
  }
  thread->system_ticks = numbers[kSystem];
  thread->all_faults = numbers[kFaults];
  thread->cost_ran_ns = thread->ran_ns;
  return name_end[2] == 'R';
}

void ThreadTable::look_at(SampledThread* thread) {
  char text[256];
  thread->system_ns = thread->faults = 0;
  errno = 0;
  if (read_file(thread->tid, "schedstat", thread->turns_file, text, sizeof text) == 0) {
    if (errno == EMFILE || errno == ENFILE) {  // it cannot be seen now
      thread->has_moved = false;
      return;
    }
    has_ended_ = true;
    thread->does = ThreadDoes::kEnded;
    thread->has_moved = true;
    return;
  }
  char* next = text;
  const uint64_t ran_ns = strtoull(next, &next, 10);
  const uint64_t queued_ns = strtoull(next, &next, 10);
  const uint64_t turns = strtoull(next, &next, 10);
  const bool is_known = thread->does != ThreadDoes::kEnded;
  const bool slept_on = is_known && thread->does == ThreadDoes::kWaits && turns == thread->turns;
  const double ran = is_known ? static_cast<double>(ran_ns - thread->ran_ns) : 1;
  const double queued = is_known ? static_cast<double>(queued_ns - thread->queued_ns) : 0;
  thread->has_moved = !slept_on;
  thread->turns = turns;
  thread->ran_ns = ran_ns;
  thread->queued_ns = queued_ns;
  if (slept_on) return;
  const bool has_cost = thread->cost_ran_ns == 0 || ran_ns - thread->cost_ran_ns >= kRanOfCostNs;
  const bool runs = has_cost && ran_ns > 0 && read_cost(thread);
  thread->call = -1;
  thread->wait = thread->counter = thread->stack = 0;
  const size_t got =
      runs ? 0 : read_file(thread->tid, "syscall", thread->call_file, text, sizeof text);
  if (!runs && (got == 0 ? is_asleep(thread->tid) : text[0] != 'r')) {  // otherwise "running"
    thread->does = ThreadDoes::kWaits;
    if (got == 0) return;
    thread->call = static_cast<int32_t>(strtol(text, &next, 10));
    if (thread->call >= 0) thread->wait = strtoull(next, &next, 16);
    // The last two numbers are the stack pointer and the program counter.
    char* const last = strrchr(text, ' ');
    if (last == nullptr) return;
    thread->counter = strtoull(last, nullptr, 16);
    *last = '\0';
    const char* const before = strrchr(text, ' ');
    if (before != nullptr) thread->stack = strtoull(before, nullptr, 16);
    return;
  }
  // The thread is on a processor or in the queue for one. The kernel only tells how long each took
  // since the last look. A look counts for the longer of the two, and the remainder is carried
  // over.
  thread->queued_share += ran + queued > 0 ? queued / (ran + queued) : 0;
  const bool is_queued = thread->queued_share > 0.5;
  if (is_queued) thread->queued_share -= 1;
  thread->does = is_queued ? ThreadDoes::kQueues : ThreadDoes::kRuns;
}

void ThreadTable::look(int32_t sampler) {
  if (has_changed()) list(sampler);
  for (size_t i = 0; i < count_; ++i) look_at(&threads_[i]);
}

}  // namespace xsp::process

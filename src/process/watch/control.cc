#include "process/watch/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "process/record/watcher.h"
#include "process/sample/sampler.h"
#include "process/watch/blocks.h"
#include "process/watch/collectors.h"
#include "process/watch/control_page.h"
#include "process/watch/room.h"
#include "process/watch/watch.h"
#include "shared/base/clock.h"
#include "shared/base/keep_errno.h"
#include "shared/base/no_cancel.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

// A process that reports steps is switched between two steps, but waits no longer than this for
// one.
constexpr int64_t kStepWaitNs = 1'000'000'000;

// These are the levels of spans that come through xsp.h, even without collectors.
constexpr uint32_t kWithoutCollectors =
    XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION) | XSP_LEVEL_BIT(XSP_LEVEL_MODEL) |
    XSP_LEVEL_BIT(XSP_LEVEL_LAYER) | XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY);

struct Control {
  ControlPage* page = nullptr;
  ProcessSlot* slot = nullptr;
  ProcessSlot own = {};  // used if all slots are taken
  int32_t process = 0;
  int64_t start_ns = 0;
  std::atomic<bool> is_on{false};
  std::atomic<bool> is_busy{false};  // a thread is inside this module
  std::atomic<bool> is_leaving{false};
  uint32_t possible = 0;  // levels that may be recorded at any time
  uint32_t levels = 0;    // levels that are being recorded
  uint32_t round = 0;     // round of the sets that take turns; 0: they do not
  uint32_t wanted_round = 0;
  int64_t wanted_ns = 0;  // time since when other levels are wanted; 0: none
  // The steps of the process.
  uint32_t kind = 0;
  uint64_t step = 0;
  int64_t step_ns = 0;  // time of the latest report
  Blocks blocks;
  uint64_t bytes = 0;  // size of the trace, as already counted in the page
  // Once there was a command, the page's plan no longer applies.
  uint64_t commands_seen[2] = {};
  bool is_manual = false;
  bool is_started = false;
  uint32_t manual_levels = 0;
  int64_t cpu_told_ns = 0;
};
Control control;

// Threads spin here because each of them is inside for a short time only. At the process's end they
// give up: a signal's handler that ends the process may have interrupted the thread that is inside,
// which will never leave.
class Busy {
 public:
  Busy() {
    while (control.is_busy.exchange(true, std::memory_order_acquire)) {
      if (!control.is_on) return;
      sched_yield();
    }
    is_inside_ = true;
  }
  ~Busy() {
    if (is_inside_) control.is_busy.store(false, std::memory_order_release);
  }
  bool is_inside() const { return is_inside_; }

 private:
  bool is_inside_ = false;
};

template <typename T>
T load(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_RELAXED);
}
template <typename T>
void store(T* field, T value) {
  __atomic_store_n(field, value, __ATOMIC_RELAXED);
}

int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

// Reading this clock is a system call, so it is done only ten times a second.
void tell_processors_time(int64_t now) {
  constexpr int64_t kEveryNs = 100'000'000;
  if (now - control.cpu_told_ns < kEveryNs) return;
  control.cpu_told_ns = now;
  store(&control.slot->cpu_ns, static_cast<uint64_t>(clock_ns(CLOCK_PROCESS_CPUTIME_ID)));
}

ProcessSlot* find_slot(int32_t process) {
  // A process that becomes another program keeps its slot and its start time.
  for (ProcessSlot& slot : control.page->slots) {
    if (load(slot.process) == process) return &slot;
  }
  for (ProcessSlot& slot : control.page->slots) {
    int32_t none = 0;
    if (__atomic_compare_exchange_n(&slot.process, &none, process, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return &slot;
    }
  }
  return &control.own;
}

// Initialises the state of this process, also in the child of a fork.
void begin_process() {
  control.process = getpid();
  control.slot = find_slot(control.process);
  if (load(control.slot->start_ns) == 0) store(&control.slot->start_ns, now_ns());
  control.start_ns = load(control.slot->start_ns);
  control.kind = 0;
  control.step = 0;
  control.step_ns = 0;
  control.wanted_ns = 0;
  control.blocks.begin(load(control.page->set_count), control.page->sets,
                       load(control.page->one_in));
  control.commands_seen[0] = control.commands_seen[1] = 0;
  control.is_manual = false;
  control.is_busy = false;
  control.is_leaving = false;
  control.bytes = 0;
}

bool is_full() {
  const uint64_t bytes_max = load(control.page->trace_bytes_max);
  return bytes_max != 0 && load(control.page->trace_bytes) >= bytes_max;
}

void count_bytes() {
  const uint64_t now = xsp_file_bytes();
  if (now <= control.bytes) return;
  __atomic_add_fetch(&control.page->trace_bytes, now - control.bytes, __ATOMIC_RELAXED);
  control.bytes = now;
}

// Limits the file to the room that is left for all processes together, until the next count.
void limit_file() {
  const uint64_t bytes_max = load(control.page->trace_bytes_max);
  const uint64_t bytes = load(control.page->trace_bytes);
  if (bytes_max != 0) xsp_limit_file(bytes < bytes_max ? bytes_max - bytes : 0);
}

// Gives up levels for all processes, and limits this process's trace in case that is not enough.
void keep_limit() {
  count_bytes();
  ControlPage* page = control.page;
  const uint32_t recorded = control.possible & (kWithoutCollectors | collected_levels());
  if ((load(page->recorded) & recorded) != recorded) {
    __atomic_or_fetch(&page->recorded, recorded, __ATOMIC_RELAXED);
  }
  const uint32_t before = load(page->given_up);
  const uint32_t given_up = levels_without_room(
      load(page->trace_bytes), load(page->trace_bytes_max), load(page->recorded), before);
  const int64_t now = now_ns();
  for (uint32_t level = 1; given_up != before && level < kLevelNumbers; ++level) {
    int64_t none = 0;
    if ((given_up & ~before & XSP_LEVEL_BIT(level)) == 0) continue;
    __atomic_compare_exchange_n(&page->given_up_ns[level], &none, now, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
  }
  if (given_up != before) __atomic_or_fetch(&page->given_up, given_up, __ATOMIC_RELAXED);
  limit_file();
}

void take_command(const Command& command, uint64_t* seen) {
  const uint64_t number = __atomic_load_n(&command.number, __ATOMIC_ACQUIRE);
  if (number == *seen) return;
  *seen = number;
  const uint32_t what = load(command.what);
  const uint32_t levels = load(command.levels);
  if (!control.is_manual) {
    control.manual_levels = load(control.page->levels);
    control.is_started = control.levels != 0;
  }
  control.is_manual = true;
  if (levels != 0) control.manual_levels = levels;
  if (what == kStart) control.is_started = true;
  if (what == kStop) control.is_started = false;
}

uint32_t planned_levels() {
  const ControlPage& page = *control.page;
  const int64_t age_ns = now_ns() - control.start_ns;
  const int64_t delay_ns = load(page.delay_ns);
  const int64_t duration_ns = load(page.duration_ns);
  if (age_ns < delay_ns || (duration_ns > 0 && age_ns >= delay_ns + duration_ns)) return 0;
  const int64_t first_step = load(page.first_step);
  const int64_t end_step = load(page.end_step);
  const int64_t step = static_cast<int64_t>(control.step);
  if (step < first_step || (end_step >= 0 && step >= end_step)) return 0;
  if (load(page.set_count) < 2) return load(page.levels);
  control.wanted_round = control.blocks.round();
  return control.blocks.levels();
}

uint32_t wanted_levels() {
  control.wanted_round = 0;
  take_command(control.page->command, &control.commands_seen[0]);
  take_command(control.slot->command, &control.commands_seen[1]);
  const uint32_t levels = !control.is_manual   ? planned_levels()
                          : control.is_started ? control.manual_levels
                                               : 0;
  return levels & ~load(control.page->given_up);
}

void switch_to(uint32_t levels) {
  control.wanted_ns = 0;
  const uint32_t round = control.wanted_round;
  if (levels == control.levels && round == control.round) return;
  const bool is_other = levels != control.levels;
  control.levels = levels;
  control.round = round;
  store(&control.slot->levels, levels);
  if (is_other) set_collector_levels(levels);
  xsp_switch_levels(levels, round);
}

void on_pass();
void on_step(uint32_t kind, uint64_t number);
uint32_t levels_of_child();
Watcher watcher = {on_pass, on_step, levels_of_child, count_unrecorded, on_last_thread, 0};

void* leave(void*) {
  leave_run();
  return nullptr;
}

// Another thread stops the recording, because the drainer's thread would wait for itself.
void begin_leaving() {
  if (control.is_leaving.exchange(true)) return;
  watcher.levels = 0;  // children are not recorded, either
  pthread_t thread;
  if (pthread_create(&thread, nullptr, leave, nullptr) == 0) {
    pthread_detach(thread);
  } else {
    control.is_leaving = false;  // the next pass tries again
  }
}

void on_pass() {
  if (!control.is_on) return;
  KeepErrno keep_errno;
  if (load(control.page->is_over) != 0) return begin_leaving();
  keep_sampling();
  const Busy busy;
  if (!busy.is_inside()) return;
  keep_limit();
  const int64_t now = now_ns();
  tell_processors_time(now);
  const uint32_t wanted = wanted_levels();
  if (wanted == control.levels) {
    control.wanted_ns = 0;
    return;
  }
  const bool has_steps = control.kind != 0 && now - control.step_ns < kStepWaitNs;
  if (control.wanted_ns == 0) control.wanted_ns = now;
  if (!has_steps || now - control.wanted_ns > kStepWaitNs) switch_to(wanted);
}

void on_step(uint32_t kind, uint64_t number) {
  if (!control.is_on) return;
  KeepErrno keep_errno;
  NoCancel no_cancel;
  const Busy busy;
  if (!busy.is_inside()) return;
  const int64_t now = now_ns();
  if (kind != control.kind) control.blocks.restart();
  control.kind = kind;
  control.step = number;
  control.step_ns = now;
  control.blocks.add_step(
      number, now, (kWithoutCollectors | collected_levels()) & ~load(control.page->given_up));
  store(&control.slot->step_kind, kind);
  store(&control.slot->steps, number + 1);
  store(&control.slot->round, control.blocks.round());
  switch_to(wanted_levels());
}

// The child's first span creates its file: from here on it is a process of its own.
uint32_t levels_of_child() {
  begin_process();
  control.levels = wanted_levels();
  store(&control.slot->levels, control.levels);
  return control.levels;
}

bool map_page(const char* folder) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s/%s", folder, kControlFile);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return false;
  const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return false;
  struct stat status = {};
  void* memory = MAP_FAILED;
  // Access to a truncated page would raise SIGBUS.
  if (fstat(fd, &status) == 0 && static_cast<size_t>(status.st_size) >= sizeof(ControlPage)) {
    memory = mmap(nullptr, sizeof(ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) return false;
  control.page = static_cast<ControlPage*>(memory);
  const bool is_known =
      control.page->magic == kControlMagic && control.page->bytes == sizeof(ControlPage);
  if (!is_known) {
    munmap(memory, sizeof(ControlPage));
    control.page = nullptr;
  }
  return is_known;
}

}  // namespace

bool has_room(const char* folder) {
  KeepErrno keep_errno;
  if (control.page == nullptr && !map_page(folder)) return true;
  if (load(control.page->is_over) != 0) return false;
  if (!is_full()) return true;
  __atomic_add_fetch(&control.page->left_out, 1, __ATOMIC_RELAXED);
  return false;
}

void count_unrecorded(int error) {
  if (control.page == nullptr || load(control.page->is_over) != 0) return;
  int32_t none = 0;
  __atomic_compare_exchange_n(&control.page->unrecorded_error, &none, error, false,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  __atomic_add_fetch(&control.page->unrecorded, 1, __ATOMIC_RELAXED);
}

void count_sanitized(const char* folder) {
  KeepErrno keep_errno;
  if (control.page == nullptr && !map_page(folder)) return;
  __atomic_add_fetch(&control.page->sanitized, 1, __ATOMIC_RELAXED);
}

void begin_control(const char* folder) {
  KeepErrno keep_errno;
  if (control.page == nullptr && !map_page(folder)) return;
  control.levels = load(control.page->levels);
  watcher.levels = control.levels;
  for (uint32_t i = 0; i < load(control.page->set_count) && i < kSetMax; ++i) {
    watcher.levels |= load(control.page->sets[i]);
  }
  control.possible = watcher.levels;
  begin_process();
  store(&control.slot->levels, control.levels);
  count_bytes();
  limit_file();
  switch_to(wanted_levels());
  prepare_sampling(load(control.page->sample_hz));
  control.is_on = true;
  xsp_set_watcher(&watcher);
}

void forget_control() {
  control.process = getpid();
  control.slot = &control.own;
  control.own = {};
  control.is_busy = false;
  control.is_leaving = false;
}

uint32_t possible_levels() {
  const uint32_t now = xsp_levels();
  return control.page != nullptr ? now | watcher.levels : now;
}

void end_control(bool is_exec) {
  if (!control.is_on) return;
  control.is_on = false;
  xsp_set_watcher(nullptr);
  if (is_exec || load(control.slot->process) != control.process) return;
  ProcessSlot* slot = control.slot;
  __atomic_fetch_add(&control.page->ended_cpu_ns,
                     static_cast<uint64_t>(clock_ns(CLOCK_PROCESS_CPUTIME_ID)), __ATOMIC_RELAXED);
  store(&slot->cpu_ns, uint64_t{0});
  store(&slot->start_ns, int64_t{0});
  store(&slot->steps, uint64_t{0});
  store(&slot->step_kind, 0u);
  store(&slot->command.number, uint64_t{0});
  __atomic_store_n(&slot->process, 0, __ATOMIC_RELEASE);
}

void end_limit() {
  if (control.page == nullptr) return;
  count_bytes();
  xsp_limit_file(UINT64_MAX);
}

void record_process_span() {
  const uint32_t application = XSP_LEVEL_APPLICATION;
  if (control.page != nullptr && !xsp_is_recorded(application)) {
    xsp_set_levels(XSP_LEVEL_BIT(application));
  }
}

}  // namespace xsp::process

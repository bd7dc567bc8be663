#include "process/sample/native_place.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process/sample/own_files.h"

namespace xsp::process {
namespace {

// The kernel notes a thread when it has run for this long since the question. It interrupts a
// thread that is inside the kernel repeatedly at this interval, until the thread leaves the kernel.
constexpr uint64_t kWithinNs = 200'000;
// Counts the pages after the head page, a power of two. They have room for one note with a stack.
constexpr size_t kStackPages = 4;
constexpr size_t kAddressPages = 1;

#ifdef __x86_64__
// The registers in the kernel's order are: ax, bx, cx, dx, si, di, bp, sp, ip, r8 to r15. kNumbers
// has their numbers in DWARF.
constexpr uint64_t kRegisters = 0xff01ff;
constexpr uint8_t kNumbers[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr size_t kRegisterCount = sizeof kNumbers;
constexpr bool kHasStacks = true;
#else
constexpr uint64_t kRegisters = 0;
constexpr uint8_t kNumbers[] = {0};
constexpr size_t kRegisterCount = 0;
constexpr bool kHasStacks = false;
#endif

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

bool map_clock(ThreadClock* clock, int32_t tid, bool has_stack) {
  perf_event_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.disabled = 1;
  wanted.sample_period = kWithinNs;
  wanted.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.exclude_callchain_kernel = 1;
  wanted.use_clockid = 1;
  wanted.clockid = CLOCK_MONOTONIC;
  wanted.wakeup_events = 1;
  if (has_stack) {
    wanted.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    wanted.sample_regs_user = kRegisters;
    wanted.sample_stack_user = kStackCopyBytes;
  }
  clock->file = static_cast<int32_t>(
      syscall(SYS_perf_event_open, &wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (clock->file < 0) return false;
  if (!has_spare_files(clock->file)) {
    close(clock->file);
    errno = EMFILE;
    return false;
  }
  clock->bytes = (1 + (has_stack ? kStackPages : kAddressPages)) * page_bytes();
  void* const pages =
      mmap(nullptr, clock->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, clock->file, 0);
  if (pages == MAP_FAILED) {
    close(clock->file);
    errno = ENOMEM;  // the kernel says EPERM where the user's locked memory is used up
    return false;
  }
  clock->pages = pages;
  clock->has_stack = has_stack;
  return true;
}

// The notes lie in a ring buffer of pages.
class Notes {
 public:
  explicit Notes(ThreadClock* clock)
      : head_(static_cast<perf_event_mmap_page*>(clock->pages)),
        bytes_(static_cast<const uint8_t*>(clock->pages) + page_bytes()),
        size_(clock->bytes - page_bytes()),
        begin_(head_->data_tail),
        end_(__atomic_load_n(&head_->data_head, __ATOMIC_ACQUIRE)) {}
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  void read(uint64_t at, void* out, size_t count) const {
    const size_t from = at % size_;
    const size_t first = count < size_ - from ? count : size_ - from;
    memcpy(out, bytes_ + from, first);
    memcpy(static_cast<uint8_t*>(out) + first, bytes_, count - first);
  }
  void finish() const { __atomic_store_n(&head_->data_tail, end_, __ATOMIC_RELEASE); }

 private:
  perf_event_mmap_page* head_;
  const uint8_t* bytes_;
  size_t size_;
  uint64_t begin_;
  uint64_t end_;
};

// A note ends at `end`. It holds, in this order: the address, the time, and, if it has a stack, the
// kind of registers (0: none), the registers, the size of the copy, the copy, and the number of
// bytes of the copy that the kernel filled.
void read_note(const Notes& notes, uint64_t at, uint64_t end, bool has_stack, NativeNote* note) {
  struct {
    uint64_t address, time_ns, registers_kind;
  } first = {};
  notes.read(at, &first, has_stack ? sizeof first : sizeof first - sizeof first.registers_kind);
  at += sizeof first;
  note->time_ns = static_cast<int64_t>(first.time_ns);
  note->start.registers[kProgramCounter] = first.address;
  note->start.known = 0;
  note->start.size = 0;
  note->start.bytes = note->bytes;
  if (!has_stack || first.registers_kind == 0) return;
  uint64_t registers[kRegisterCount + 1] = {};
  notes.read(at, registers, kRegisterCount * sizeof registers[0]);
  at += kRegisterCount * sizeof registers[0];
  for (size_t i = 0; i < kRegisterCount; ++i) {
    note->start.registers[kNumbers[i]] = registers[i];
    note->start.known |= 1u << kNumbers[i];
  }
  note->start.stack = note->start.registers[kStackPointer];
  uint64_t size = 0;
  notes.read(at, &size, sizeof size);
  at += sizeof size;
  if (size > kStackCopyBytes || size == 0 || end - at < size + sizeof size) return;
  uint64_t there = 0;
  notes.read(at + size, &there, sizeof there);
  note->start.size = there < size ? there : size;
  notes.read(at, note->bytes, note->start.size);
}

}  // namespace

bool open_clock(ThreadClock* clock, int32_t tid, bool has_stack) {
  if (clock->is_tried) return true;
  clock->is_tried = true;
  return (kHasStacks && has_stack && map_clock(clock, tid, true)) || map_clock(clock, tid, false);
}

void close_clock(ThreadClock* clock) {
  if (clock->pages == nullptr) return;
  munmap(clock->pages, clock->bytes);
  close(clock->file);
  clock->pages = nullptr;
  clock->has_stack = false;
}

bool ask_clock(ThreadClock* clock) {
  if (clock->pages == nullptr) return false;
  if (has_note(*clock)) {
    Notes(clock).finish();
    clock->is_asked = false;
  }
  if (!clock->is_asked) {
    clock->is_asked = ioctl(clock->file, PERF_EVENT_IOC_REFRESH, 1) == 0;
    return clock->is_asked;
  }
  // The kernel stops the clock a moment after it has written a note, and so undoes a question that
  // comes in this moment. The clock is started again while it owes a note; that changes nothing if
  // it runs. If the note has just come, a started clock would write notes without end.
  ioctl(clock->file, PERF_EVENT_IOC_ENABLE, 0);
  if (has_note(*clock)) ioctl(clock->file, PERF_EVENT_IOC_DISABLE, 0);
  return true;
}

bool has_note(const ThreadClock& clock) {
  if (clock.pages == nullptr) return false;
  const auto* head = static_cast<const perf_event_mmap_page*>(clock.pages);
  return __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE) != head->data_tail;
}

bool latest_note(ThreadClock* clock, NativeNote* note) {
  if (clock->pages == nullptr) return false;
  const Notes notes(clock);
  uint64_t latest = 0;
  uint64_t latest_end = 0;
  for (uint64_t at = notes.begin(); at < notes.end();) {
    perf_event_header head;
    notes.read(at, &head, sizeof head);
    if (head.size < sizeof head) break;
    if (head.type == PERF_RECORD_SAMPLE) {
      latest = at + sizeof head;
      latest_end = at + head.size;
    }
    at += head.size;
  }
  if (latest != 0) read_note(notes, latest, latest_end, clock->has_stack, note);
  notes.finish();
  if (latest != 0) clock->is_asked = false;
  return latest != 0;
}

}  // namespace xsp::process

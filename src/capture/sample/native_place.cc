#include "capture/sample/native_place.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace xsp::capture {
namespace {

constexpr uint64_t kPeriodNs = 3'000'000;  // of a thread's processor time
constexpr int64_t kReadEveryNs = 100'000'000;
constexpr size_t kPages = 2;  // the head, and one of notes

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

void open_clock(ThreadClock* clock, int32_t tid) {
  if (clock->is_tried) return;
  clock->is_tried = true;
  perf_event_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.sample_period = kPeriodNs;
  wanted.sample_type = PERF_SAMPLE_IP;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  clock->file = static_cast<int32_t>(
      syscall(SYS_perf_event_open, &wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (clock->file < 0) return;
  void* const page =
      mmap(nullptr, kPages * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, clock->file, 0);
  if (page == MAP_FAILED) {
    close(clock->file);
  } else {
    clock->page = page;
  }
}

void close_clock(ThreadClock* clock) {
  if (clock->page == nullptr) return;
  munmap(clock->page, kPages * page_bytes());
  close(clock->file);
  clock->page = nullptr;
}

uint64_t latest_address(ThreadClock* clock) {
  if (clock->page == nullptr) return 0;
  auto* head = static_cast<perf_event_mmap_page*>(clock->page);
  const auto* notes = static_cast<const uint8_t*>(clock->page) + page_bytes();
  const uint64_t mask = page_bytes() - 1;
  const uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
  uint64_t address = 0;
  // Notes are of multiples of 8 bytes, which do not lie across the page's end.
  for (uint64_t at = head->data_tail; at < end;) {
    perf_event_header note;
    memcpy(&note, notes + (at & mask), sizeof note);
    if (note.size < sizeof note) break;
    if (note.type == PERF_RECORD_SAMPLE) {
      memcpy(&address, notes + ((at + sizeof note) & mask), sizeof address);
    }
    at += note.size;
  }
  __atomic_store_n(&head->data_tail, end, __ATOMIC_RELEASE);
  return address;
}

int Modules::find(uint64_t address) const {
  // The latest first: where a library was loaded in the place of another, it is that one.
  for (size_t i = count_; i-- > 0;) {
    if (modules_[i].start <= address && address < modules_[i].end) return static_cast<int>(i);
  }
  return -1;
}

// "start-end perms offset device inode path"
bool Modules::add_line(const char* line, const char** path) {
  char* next = nullptr;
  Module module = {};
  module.start = strtoull(line, &next, 16);
  if (*next != '-') return false;
  module.end = strtoull(next + 1, &next, 16);
  if (strlen(next) < 6 || next[3] != 'x') return false;
  module.offset = strtoull(next + 6, &next, 16);
  *path = strpbrk(next, "/[");
  if (*path == nullptr || count_ == kModulesMax) return false;
  const int known = find(module.start);
  if (known >= 0 && memcmp(&modules_[known], &module, sizeof module) == 0) return false;
  modules_[count_++] = module;
  return true;
}

void Modules::refresh(int64_t now_ns, void (*added)(void*, uint32_t, const char*), void* context) {
  if (now_ns - read_ns_ < kReadEveryNs) return;
  read_ns_ = now_ns;
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[8192];
  size_t kept = 0;
  for (;;) {
    const ssize_t got = read(file, text + kept, sizeof text - 1 - kept);
    if (got <= 0) break;
    const size_t bytes = kept + static_cast<size_t>(got);
    text[bytes] = '\0';
    char* line = text;
    for (char* end = strchr(line, '\n'); end != nullptr; end = strchr(line, '\n')) {
      *end = '\0';
      const char* path = nullptr;
      if (add_line(line, &path)) added(context, static_cast<uint32_t>(count_ - 1), path);
      line = end + 1;
    }
    kept = bytes - static_cast<size_t>(line - text);
    if (kept == sizeof text - 1) kept = 0;  // a line that is longer than any path
    memmove(text, line, kept);
  }
  close(file);
}

}  // namespace xsp::capture

#include "process/record/own_threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace xsp::process {
namespace {

// Reads the beginning of a small /proc file of that thread. Returns false if it cannot be read.
bool read_of_thread(const char* tid, const char* name, char* out, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/%s", tid, name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return false;
  const ssize_t got = read(fd, out, size - 1);
  close(fd);
  out[got > 0 ? got : 0] = '\0';
  return got > 0;
}

// Returns whether the thread has ended while its process still exists. The file's last number is
// the thread's status, as waitpid reports it.
bool is_zombie(const char* tid, int* status) {
  char text[1024];
  if (!read_of_thread(tid, "stat", text, sizeof text)) return false;
  const char* name_end = strrchr(text, ')');
  if (name_end == nullptr || strncmp(name_end, ") Z", 3) != 0) return false;
  const char* last = strrchr(text, ' ');
  *status = (atoi(last) >> 8) & 0xff;
  return true;
}

bool is_ours(const char* tid) {
  char name[32];
  return read_of_thread(tid, "comm", name, sizeof name) &&
         strncmp(name, kOwnThreadNames, sizeof kOwnThreadNames - 1) == 0;
}

// Returns whether `is_so` is true of the id of every thread in the open folder. It uses the system
// call itself, because the C library's functions for reading folders allocate.
template <typename Test>
bool are_all(int folder, Test is_so) {
  constexpr size_t kSizeAt = 16;  // each record holds its size here, then a byte, then the name
  constexpr size_t kNameAt = 19;
  alignas(8) char buffer[2048];
  for (;;) {
    const long got = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (got <= 0) return got == 0;
    uint16_t size = 0;
    for (long at = 0; at < got; at += size) {
      memcpy(&size, buffer + at + kSizeAt, sizeof size);
      const char* tid = buffer + at + kNameAt;
      if (tid[0] != '.' && !is_so(tid)) return false;
    }
  }
}

// Is also false if the threads cannot be read.
template <typename Test>
bool are_all_threads(Test is_so) {
  const int folder = open("/proc/self/task", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (folder < 0) return false;
  const bool is_true = are_all(folder, is_so);
  close(folder);
  return is_true;
}

// Holds the id of the process's first thread.
struct First {
  First() { snprintf(id, sizeof id, "%d", static_cast<int>(getpid())); }
  bool is(const char* tid) const { return strcmp(tid, id) == 0; }
  char id[16];
};

}  // namespace

bool has_program_ended(int* status) {
  const First first;
  if (!is_zombie(first.id, status)) return false;
  return are_all_threads([&](const char* tid) { return first.is(tid) || is_ours(tid); });
}

void wait_for_ended_threads() {
  constexpr int kTries = 200;
  constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 100'000};
  const First first;
  const auto is_other = [&](const char* tid) { return first.is(tid) || !is_ours(tid); };
  for (int i = 0; i < kTries && !are_all_threads(is_other); ++i) nanosleep(&kPause, nullptr);
}

}  // namespace xsp::process

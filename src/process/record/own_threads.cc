#include "process/record/own_threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace xsp::capture {
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

// Returns whether no thread in the open folder belongs to the program. It uses the system call
// itself, because the C library's functions for reading folders allocate.
bool are_all_ours(int folder, const char* first) {
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
      if (tid[0] != '.' && strcmp(tid, first) != 0 && !is_ours(tid)) return false;
    }
  }
}

}  // namespace

bool has_program_ended(int* status) {
  char first[16];
  snprintf(first, sizeof first, "%d", static_cast<int>(getpid()));
  if (!is_zombie(first, status)) return false;
  const int folder = open("/proc/self/task", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (folder < 0) return false;
  const bool is_alone = are_all_ours(folder, first);
  close(folder);
  return is_alone;
}

}  // namespace xsp::capture

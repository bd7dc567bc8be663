// The sampler's own table of files: what it opens takes no number from the program's, and neither
// closes the other's.
#ifndef XSP_PROCESS_SAMPLE_OWN_FILES_H_
#define XSP_PROCESS_SAMPLE_OWN_FILES_H_

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/sample/memory.h"

namespace xsp::process {

// Gives the calling thread an empty file table of its own. Returns false if the system refuses.
bool own_files();

// Returns whether the limit on open files leaves some beyond this newest one. A file that stays
// open must leave them: they serve to list the threads, and for files that are open for a moment.
bool has_spare_files(int newest);

// Lists the names in an open folder. It uses the system call itself, because the C library's
// functions for reading folders allocate.
template <typename Take>
void for_each_name(int folder, Take take) {
  constexpr size_t kBytesAt = 16;  // each record holds its size here, then a byte, then the name
  constexpr size_t kNameAt = 19;
  alignas(8) char buffer[8192];
  for (;;) {
    const long got = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (got <= 0) return;
    for (long at = 0; at < got; at += field_of<uint16_t>(buffer + at, kBytesAt)) {
      take(buffer + at + kNameAt);
    }
  }
}

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_OWN_FILES_H_

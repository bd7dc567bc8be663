// Confine: what a process that reads foreign files gives up before it does. For src/store alone.
#ifndef XSP_STORE_CONFINE_H_
#define XSP_STORE_CONFINE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace xsp::store {

struct Confinement {
  std::vector<std::filesystem::path> read;     // files, that may be read; those that are not there
                                               // are passed over
  std::vector<std::filesystem::path> folders;  // whose files may be made, written and removed
  uint64_t memory_bytes = 0;                   // 0: what the machine has
};

// From here on the process, and each thread that it starts, opens no other file (by Landlock), and
// has no network, starts no program, signals and looks into no other process, changes no file's
// owner or mode (by a seccomp filter). What the kernel refuses to hold is not held.
void confine(const Confinement& confinement);

bool can_confine_files();
bool can_confine_calls();

}  // namespace xsp::store

#endif  // XSP_STORE_CONFINE_H_

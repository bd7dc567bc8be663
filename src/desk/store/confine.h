// Confine: drops permissions of a process before it reads untrusted files. For src/desk/store
// alone.
#ifndef XSP_DESK_STORE_CONFINE_H_
#define XSP_DESK_STORE_CONFINE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace xsp::store {

struct Confinement {
  std::vector<std::filesystem::path> read;     // files that may be read; missing ones are skipped
  std::vector<std::filesystem::path> folders;  // folders in which files may be made, written and
                                               // removed
  uint64_t memory_bytes = 0;                   // 0: no limit
};

// Confines this process and each thread that it starts from now on. They can open no other file (by
// Landlock). They have no network, start no program, signal and inspect no other process, and
// change no file's owner or mode (by a seccomp filter). Restrictions that the kernel does not
// support are skipped.
void confine(const Confinement& confinement);

bool can_confine_files();
bool can_confine_calls();

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_CONFINE_H_

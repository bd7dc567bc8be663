// Confine: drops permissions of a process before it reads untrusted files. For src/desk/store
// alone.
//
// Landlock leaves the process its file and its spill folder. A seccomp filter refuses sockets,
// programs, processes, signals to others, io_uring, and every system call newer than the filter.
// RLIMIT_DATA bounds its memory at four times the memory of its queries and 512 MB. It writes no
// core file, and has 256 descriptors at most. Refused: libseccomp, a dependency for forty lines; a
// list of the allowed calls, because glibc and DuckDB change theirs from version to version, and
// the failure would be the user's; namespaces, which containers refuse. Without Landlock DuckDB's
// own settings keep SQL from other files; without seccomp they alone keep it from the network.
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

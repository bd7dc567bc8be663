// Makes files outlast a crash of the machine.
#ifndef XSP_SHARED_BASE_DURABLE_H_
#define XSP_SHARED_BASE_DURABLE_H_

#include <filesystem>

namespace xsp {

// Waits until a file's bytes, or a folder's list of names, are on the disk. Returns false, with
// errno, if they may not be. A disk may tell only now that a write has failed: it is full, or a
// quota is used. A file system that cannot wait is no failure.
bool make_durable(const std::filesystem::path& path);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_DURABLE_H_

// Adapters keep here what a framework's compiler makes of a model: files in ~/.cache/xsp/KIND,
// which other processes read.
//
// A compiler that tries kernels and takes the fastest gives two programs for two builds of a model.
// All processes of an experiment must run the same one: the first builds it, the others load it.
#ifndef XSP_COMPILED_CACHE_HPP_
#define XSP_COMPILED_CACHE_HPP_

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "xsp/find_library.hpp"

namespace xsp {

using FileBytes = std::vector<char>;

// Returns the folder of a kind, with a slash, and creates it; `why` says why there is none.
inline std::string compiled_folder(const std::string& kind, std::string* why) {
  const std::filesystem::path folder =
      std::filesystem::path(frameworks_folder()).parent_path().parent_path() / kind;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) *why = folder.string() + ": cannot be made: " + error.message();
  return folder.string() + "/";
}

// Removes the files of a folder that were neither written nor read for 14 days, but no locks, which
// another process may hold.
inline void remove_unused(const std::string& folder) {
  constexpr std::chrono::hours kKept(14 * 24);
  const auto oldest = std::filesystem::file_time_type::clock::now() - kKept;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    const auto used = file.last_write_time(error);
    if (file.path().extension() == ".lock") continue;
    if (!error && used < oldest) std::filesystem::remove(file.path(), error);
  }
}

// Reads a whole file; false: it cannot be read.
inline bool read_file(const std::string& path, FileBytes* bytes) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return false;
  bytes->resize(size);
  return static_cast<bool>(file.read(bytes->data(), static_cast<std::streamsize>(size)));
}

// Reads a file of the cache, and marks it as used now; false: there is none.
inline bool read_compiled(const std::string& path, FileBytes* bytes) {
  if (!read_file(path, bytes)) return false;
  std::error_code error;
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), error);
  return true;
}

// Writes a file so that other processes see it whole or not at all; false: it cannot be written.
inline bool write_compiled(const std::string& path, const void* data, size_t bytes) {
  const std::string part = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream file(part, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path, error);
  if (file && !error) return true;
  std::filesystem::remove(part, error);
  return false;
}

// Returns a number that depends on every byte (FNV-1a over 64 bits, by words of eight bytes).
inline uint64_t hash_of(const void* data, size_t bytes, uint64_t seed) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t hash = (0xcbf29ce484222325 ^ seed) * kPrime;
  const auto* at = static_cast<const char*>(data);
  for (size_t left = bytes; left > 0;) {
    const size_t part = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
    uint64_t word = 0;
    std::memcpy(&word, at, part);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
    at += part;
    left -= part;
  }
  return (hash ^ bytes) * kPrime;
}

// Returns a number as 16 digits of a file's name.
inline std::string hex_of(uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

// Holds the right to do what the file `path` stands for, which only one process has; waits for it.
// So one process builds a program; and one build runs on a GPU, because a second one would disturb
// the timing of kernels.
class BuildLock {
 public:
  explicit BuildLock(const std::string& path)
      : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (file_ >= 0) (void)flock(file_, LOCK_EX);
  }
  ~BuildLock() {
    if (file_ >= 0) ::close(file_);
  }
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;

 private:
  int file_;
};

}  // namespace xsp

#endif  // XSP_COMPILED_CACHE_HPP_

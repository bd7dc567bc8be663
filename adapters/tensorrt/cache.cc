#include "adapters/tensorrt/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "xsp/find_library.hpp"

namespace xsp::tensorrt {

std::string cache_folder(std::string* why) {
  const std::filesystem::path folder =
      std::filesystem::path(frameworks_folder()).parent_path().parent_path() / "tensorrt";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) *why = folder.string() + ": cannot be made: " + error.message();
  return folder.string() + "/";
}

bool read_file(const std::string& path, Bytes* bytes) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return false;
  bytes->resize(size);
  return static_cast<bool>(file.read(bytes->data(), static_cast<std::streamsize>(size)));
}

bool write_file(const std::string& path, const void* data, size_t bytes) {
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

uint64_t hash_of(const void* data, size_t bytes, uint64_t seed) {
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

BuildLock::BuildLock(const std::string& path)
    : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
  if (file_ >= 0) (void)flock(file_, LOCK_EX);
}
BuildLock::~BuildLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace xsp::tensorrt

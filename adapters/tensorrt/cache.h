// Engines and timings that are kept between processes, in ~/.cache/xsp/tensorrt.
//
// A build tries kernels and takes the fastest, so two builds of a model give two engines. All
// processes of an experiment must run the same one: the first builds it, the others load it. Only
// one process builds on a GPU at a time, because a second one would disturb the timing of kernels.
#ifndef XSP_ADAPTERS_TENSORRT_CACHE_H_
#define XSP_ADAPTERS_TENSORRT_CACHE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace xsp::tensorrt {

using Bytes = std::vector<char>;

// Returns the cache's folder, and creates it. Without one, xsp_status XSP_FAILED is due: `why`.
std::string cache_folder(std::string* why);

// Reads a whole file; false: it cannot be read.
bool read_file(const std::string& path, Bytes* bytes);
// Writes a file so that other processes see it whole or not at all; false: it cannot be written.
bool write_file(const std::string& path, const void* data, size_t bytes);

// Returns a number that depends on every byte (FNV-1a over 64 bits, by words of eight bytes).
uint64_t hash_of(const void* data, size_t bytes, uint64_t seed);

// Holds the right to do what the file `path` stands for, which only one process has; waits for it.
class BuildLock {
 public:
  explicit BuildLock(const std::string& path);
  ~BuildLock();
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;

 private:
  int file_;
};

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_CACHE_H_

// PackedFile reads a file that may be compressed by gzip; the bytes tell, not the name.
#ifndef XSP_IMPORTERS_SHARED_PACKED_FILE_H_
#define XSP_IMPORTERS_SHARED_PACKED_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "shared/base/result.h"

struct gzFile_s;

namespace xsp::importers {

// A file that unpacks to more bytes than this is refused if it also unpacks to more than
// kPackedRatioMax times its own size. Traces shrink 10 to 40 times; gzip's maximum, reached by a
// file of equal bytes only, is 1,030.
inline constexpr uint64_t kUnpackedBytesMin = 64 << 20;
inline constexpr uint64_t kPackedRatioMax = 200;

class PackedFile {
 public:
  static Result<PackedFile> open(const std::filesystem::path& path);

  // Reads up to `size` bytes, unpacked. Returns their number; 0 at the end, also at that of a
  // compressed file that is cut short. Fails if the file is damaged or unpacks without bound.
  Result<size_t> read(char* bytes, size_t size);

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  PackedFile(std::filesystem::path path, uint64_t size, gzFile_s* file)
      : path_(std::move(path)), packed_bytes_(size), file_(file) {}

  std::filesystem::path path_;
  uint64_t packed_bytes_;
  uint64_t unpacked_bytes_ = 0;
  std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace xsp::importers

#endif  // XSP_IMPORTERS_SHARED_PACKED_FILE_H_

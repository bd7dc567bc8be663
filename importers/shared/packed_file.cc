#include "importers/shared/packed_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>

namespace xsp::importers {

void PackedFile::Close::operator()(gzFile_s* file) const { gzclose(file); }

Result<PackedFile> PackedFile::open(const std::filesystem::path& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  gzFile_s* file = error ? nullptr : gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    const std::string why = error ? error.message() : std::strerror(errno);
    return failed(path.string() + ": cannot be read: " + why);
  }
  return PackedFile(path, size, file);
}

Result<size_t> PackedFile::read(char* bytes, size_t size) {
  const int count = gzread(file_.get(), bytes, static_cast<unsigned>(size));
  if (count < 0) {
    int number = 0;
    const char* const text = gzerror(file_.get(), &number);
    return corrupt(path_.string() +
                   ": cannot be unpacked: " + (number == Z_ERRNO ? std::strerror(errno) : text));
  }
  unpacked_bytes_ += static_cast<uint64_t>(count);
  if (unpacked_bytes_ > kUnpackedBytesMin && unpacked_bytes_ > packed_bytes_ * kPackedRatioMax) {
    return corrupt(path_.string() + ": unpacks to more than " + std::to_string(kPackedRatioMax) +
                   " times its size: no trace does: unpack it with gunzip if it is one");
  }
  return static_cast<size_t>(count);
}

}  // namespace xsp::importers

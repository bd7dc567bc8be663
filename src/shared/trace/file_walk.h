// FileWalk reads the chunks of an .xtrace file, one after another, and skips damaged parts.
#ifndef XSP_SHARED_TRACE_FILE_WALK_H_
#define XSP_SHARED_TRACE_FILE_WALK_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "shared/base/result.h"
#include "shared/trace/format.h"

namespace xsp::trace {

// An open file that is read at given offsets; several threads may read at once.
class InputFile {
 public:
  static Result<InputFile> open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  uint64_t size() const { return size_; }
  // Reads up to `bytes.size()` bytes, fewer at the end of the file. Returns the number read.
  Result<size_t> read(uint64_t offset, std::span<uint8_t> bytes) const;

 private:
  InputFile(int fd, uint64_t size) : fd_(fd), size_(size) {}
  int fd_ = -1;
  uint64_t size_ = 0;
};

struct Chunk {
  ChunkHeader header;
  uint64_t payload_offset = 0;
  // Holds the whole payload, or only the last kPageBytes of a kLane. It is valid until the next
  // step.
  std::span<const uint8_t> payload;
};

class FileWalk {
 public:
  explicit FileWalk(const InputFile& file) : file_(file) {}

  // Reads the next whole chunk. Returns false at the end of the file.
  Result<bool> next(Chunk* chunk);
  // Returns the number of stretches of bytes so far that were no whole chunk.
  uint64_t damage_count() const { return damage_count_; }
  // Returns whether the file ends inside a chunk.
  bool is_cut_short() const { return is_cut_short_; }
  // Returns the number of whole chunks.
  uint64_t chunk_count() const { return chunk_count_; }

 private:
  Result<bool> read_header(uint64_t offset, ChunkHeader* header);
  Result<bool> read_payload(Chunk* chunk);
  Result<bool> find_header(uint64_t* offset);

  const InputFile& file_;
  uint64_t offset_ = kPageBytes;
  std::vector<uint8_t> buffer_;
  uint64_t damage_count_ = 0;
  uint64_t chunk_count_ = 0;
  bool is_cut_short_ = false;
};

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_FILE_WALK_H_

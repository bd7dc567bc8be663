#include "shared/trace/file_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "shared/base/crc32c.h"
#include "shared/base/limits.h"

namespace xsp::trace {
namespace {

constexpr size_t kSearchBytes = 64u << 10;

uint64_t align_up(uint64_t value) {
  return (value + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
}

bool is_header(const ChunkHeader& header) {
  return header.magic == kChunkMagic && header.payload_bytes <= kChunkPayloadBytesMax &&
         header.header_crc == crc32c(&header, offsetof(ChunkHeader, header_crc));
}

}  // namespace

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  const int open_error = errno;
  struct stat status = {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    return failed(path.string() + ": cannot be opened: " + std::strerror(open_error));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    return failed(path.string() + ": not a regular file: name an .xtrace file");
  }
  return InputFile(fd, static_cast<uint64_t>(status.st_size));
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<size_t> InputFile::read(uint64_t offset, std::span<uint8_t> bytes) const {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return failed(std::string("reading a trace: ") + std::strerror(errno) + ": try again");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Result<bool> FileWalk::read_header(uint64_t offset, ChunkHeader* header) {
  uint8_t bytes[sizeof *header];
  XSP_TRY(const size_t got, file_.read(offset, bytes));
  if (got < sizeof bytes) return false;
  std::memcpy(header, bytes, sizeof bytes);
  return is_header(*header);
}

// Moves *offset to the next chunk header at or after it. Returns false if there is none.
Result<bool> FileWalk::find_header(uint64_t* offset) {
  std::vector<uint8_t> window(kSearchBytes);
  while (*offset + sizeof(ChunkHeader) <= file_.size()) {
    XSP_TRY(const size_t got, file_.read(*offset, window));
    if (got < sizeof(ChunkHeader)) return false;
    size_t at = 0;
    for (; at + sizeof(ChunkHeader) <= got; at += kChunkAlignment) {
      ChunkHeader header;
      std::memcpy(&header, window.data() + at, sizeof header);
      if (!is_header(header)) continue;
      *offset += at;
      return true;
    }
    *offset += at;
  }
  return false;
}

Result<bool> FileWalk::read_payload(Chunk* chunk) {
  size_t bytes = chunk->header.payload_bytes;
  uint64_t at = chunk->payload_offset;
  const bool is_lane = chunk->header.type == static_cast<uint16_t>(ChunkType::kLane);
  if (is_lane) {
    if (bytes < kPageBytes) return false;
    at += bytes - kPageBytes;
    bytes = kPageBytes;
  }
  if (at + bytes > file_.size()) return false;
  buffer_.resize(bytes);
  XSP_TRY(const size_t got, file_.read(at, buffer_));
  if (got < bytes) return false;
  chunk->payload = buffer_;
  return is_lane || crc32c(buffer_.data(), bytes) == chunk->header.payload_crc;
}

Result<bool> FileWalk::next(Chunk* chunk) {
  bool is_damage_told = false;
  while (offset_ < file_.size()) {
    XSP_TRY(const bool is_here, read_header(offset_, &chunk->header));
    if (!is_here) {
      if (!std::exchange(is_damage_told, true)) ++damage_count_;
      offset_ += kChunkAlignment;
      XSP_TRY(const bool is_found, find_header(&offset_));
      if (is_found) continue;
      offset_ = file_.size();
      is_cut_short_ = true;
      break;
    }
    chunk->payload_offset = offset_ + sizeof(ChunkHeader);
    const uint64_t end = align_up(chunk->payload_offset + chunk->header.payload_bytes);
    is_cut_short_ = chunk->payload_offset + chunk->header.payload_bytes > file_.size();
    XSP_TRY(const bool is_whole, read_payload(chunk));
    offset_ = is_cut_short_ ? offset_ + kChunkAlignment : end;
    if (is_whole) {
      ++chunk_count_;
      return true;
    }
    ++damage_count_;
    is_damage_told = true;
  }
  return false;
}

}  // namespace xsp::trace

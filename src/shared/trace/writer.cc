// The .xtrace file has one page of facts about the recording, then chunks, which are only appended.
//
//   offset 0     FileHeader      64 bytes, never changes, CRC-32C
//          64    SessionBlock    live: state, latest anchor, counts of what was lost
//          4032  FileHeader      a copy
//          4096  chunk | chunk | ...                        each at a multiple of 8
//
//   chunk:  ChunkHeader   magic, type, payload_bytes, payload_crc, sequence, header_crc   24 bytes
//           payload       then zeros up to a multiple of 8
//
//   kSpans payload:  SpansHeader, eight columns, further values        see trace/encode.h
//   kLane payload:   zeros up to the edge of a page, LaneBlock         live, without a checksum
//   the others:      see trace/format.h; numbers are in the order of the machine that wrote
//
// A chunk is whole or absent: readers check both checksums, and look for the next header behind a
// damaged part. The process maps the pages that say "live" and changes them in place, so they are
// up to date whenever it dies: they hold the open spans and the counts of accepted and lost ones.
//
// These alternatives were rejected:
//  - A trailer at the end: on a full disk it is the one part that cannot be written. The first page
//    is there from the beginning, so "complete" and the counts always have their place.
//  - A side file for the open-span stacks: two files are easily separated, and a reader would have
//    to detect a stale one. A table of stacks at the front: the number of threads is not known. A
//    page of the file for each thread costs 4 to 8 KiB, once, and later threads use it again.
//  - Rings in the file: see process/record/drain.cc.
//  - One record after another, as in the ring: 32 bytes a span, while columns take 2 to 9.
//  - Compression on top of the columns: the drainer would cost more than the spans it drains.
//  - Writing the pages of the stacks with write(2): the emitting thread makes no system calls. With
//    a file system that cannot map, the drainer writes these pages with every pass.
#include "shared/trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "shared/base/crc32c.h"
#include "shared/base/limits.h"

namespace xsp::trace {
namespace {

constexpr int kFirstFd = 500;

// Writing beyond RLIMIT_FSIZE raises SIGXFSZ, which kills the process by default: block the signal,
// and remove it.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoFileSizeSignal() {
    if (!was_pending_) {
      const timespec now = {};
      while (sigtimedwait(&signal_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_;
  sigset_t before_;
  bool was_pending_ = false;
};

// Uses the system call itself: a watched process sees calls of the function
// (process/watch/descriptors.cc).
int move_up(int fd) {
  const auto move = [fd](rlim_t from) {
    return static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from));
  };
  const int high = move(kFirstFd);
  rlimit files = {};
  if (high >= 0 || getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > kFirstFd) return high;
  return move(files.rlim_cur - files.rlim_cur / 4);  // the highest number that is allowed
}

int open_file(const char* path, int flags) {
  const int fd = ::open(path, flags | O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (fd < 0) return fd;
  // Programs use the low numbers as if they were alone: a shell's `exec 3<file`.
  const int high = move_up(fd);
  if (high < 0) return fd;
  ::close(fd);
  return high;
}

bool is_locked_by_another(int fd) {
  // A missing lock feature of the file system is not an error.
  return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

void fill_header(ChunkHeader* header, ChunkType type, uint32_t sequence, const uint8_t* payload,
                 size_t payload_bytes) {
  *header = {};
  header->magic = kChunkMagic;
  header->type = static_cast<uint16_t>(type);
  header->payload_bytes = static_cast<uint32_t>(payload_bytes);
  header->payload_crc = type == ChunkType::kLane ? 0 : crc32c(payload, payload_bytes);
  header->sequence = sequence;
  header->header_crc = crc32c(header, offsetof(ChunkHeader, header_crc));
}

}  // namespace

size_t block_area_bytes() {
  const long page = sysconf(_SC_PAGESIZE);
  return page > long{kPageBytes} ? static_cast<size_t>(page) : kPageBytes;
}

int Writer::open(const char* path, const FileHeader& header, uint64_t limit_bytes) {
  const size_t length = std::strlen(path);
  if (length >= sizeof path_) return ENAMETOOLONG;
  std::memcpy(path_, path, length + 1);
  const int fd = open_file(path, O_CREAT);
  if (fd < 0) return errno;
  fd_ = fd;
  struct stat status = {};
  int error = 0;
  if (fstat(fd, &status) != 0) {
    error = errno;
  } else if (!S_ISREG(status.st_mode)) {
    error = EINVAL;
  } else if (is_locked_by_another(fd)) {
    error = EBUSY;
  } else if (ftruncate(fd, 0) != 0) {
    error = errno;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  alignas(8) uint8_t page[kPageBytes] = {};
  FileHeader complete = header;
  complete.crc = crc32c(&complete, offsetof(FileHeader, crc));
  SessionBlock session = {};
  session.state = static_cast<uint64_t>(FileState::kRecording);
  std::memcpy(page, &complete, sizeof complete);
  std::memcpy(page + kSessionBlockOffset, &session, sizeof session);
  std::memcpy(page + kHeaderCopyOffset, &complete, sizeof complete);
  limit_ = limit_bytes;
  end_ = kPageBytes;
  sequence_ = 0;
  if (error == 0) error = write_at(page, sizeof page, 0);
  if (error == 0) {
    void* mapped = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    is_mapped_ = mapped != MAP_FAILED;
    if (!is_mapped_) {
      mapped =
          mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (mapped == MAP_FAILED) {
      error = errno;
    } else {
      page_ = static_cast<uint8_t*>(mapped);
      if (!is_mapped_) std::memcpy(page_, page, sizeof page);
      session_ = reinterpret_cast<SessionBlock*>(page_ + kSessionBlockOffset);
    }
  }
  if (error != 0) close();
  return error;
}

void Writer::move_descriptor() {
  if (!is_ours()) return;
  const int other = move_up(fd_);
  if (other < 0) return;
  ::close(fd_);
  __atomic_store_n(&fd_, other, __ATOMIC_RELAXED);
}

bool Writer::is_ours() const {
  struct stat status;
  return fd_ >= 0 && fstat(fd_, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

bool Writer::is_there() {
  if (is_ours()) return true;
  if (fd_ < 0) return false;
  const int theirs = fd_;
  fd_ = open_file(path_, 0);
  if (is_ours()) return true;  // it is locked, too: the mapped pages keep the lock
  if (fd_ >= 0) ::close(fd_);
  fd_ = theirs;
  return false;
}

void Writer::cut() {
  if (!is_ours()) return;
  [[maybe_unused]] const int ignored = ftruncate(fd_, static_cast<off_t>(end_));
}

int Writer::write_at(const void* bytes, size_t size, uint64_t offset) {
  if (limit_ != 0 && offset + size > limit_) return EFBIG;
  if (!is_there()) return EBADF;
  NoFileSizeSignal guard;
  const uint8_t* from = static_cast<const uint8_t*>(bytes);
  while (size > 0) {
    const ssize_t written = pwrite(fd_, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    from += written;
    size -= static_cast<size_t>(written);
    offset += static_cast<uint64_t>(written);
  }
  return 0;
}

int Writer::append(ChunkType type, uint8_t* buffer, size_t payload_bytes) {
  if (payload_bytes > kChunkPayloadBytesMax) return EFBIG;
  uint8_t* payload = buffer + sizeof(ChunkHeader);
  ChunkHeader header;
  fill_header(&header, type, sequence_, payload, payload_bytes);
  std::memcpy(buffer, &header, sizeof header);
  const size_t size = align_up(sizeof header + payload_bytes, kChunkAlignment);
  std::memset(payload + payload_bytes, 0, size - sizeof header - payload_bytes);
  const int error = write_at(buffer, size, end_);
  if (error != 0) {
    // A reader must not take the torn rest for a chunk. If even cut() fails, the checksum reveals
    // it.
    cut();
    return error;
  }
  __atomic_store_n(&end_, end_ + size, __ATOMIC_RELAXED);
  ++sequence_;
  __atomic_store_n(&session_->chunk_count, sequence_, __ATOMIC_RELAXED);
  return 0;
}

int Writer::append_lane(void* page, const LaneBlock& block, uint64_t* offset, bool* is_mapped) {
  const uint64_t at = align_up(end_ + sizeof(ChunkHeader), block_area_bytes());
  ChunkHeader header;
  fill_header(&header, ChunkType::kLane, sequence_, nullptr,
              at + kPageBytes - end_ - sizeof header);
  // The block is written first: a chunk with a header is complete. The hole between is padding.
  int error = write_at(&block, sizeof block, at);
  if (error == 0) error = write_at(&header, sizeof header, end_);
  if (error != 0) {
    cut();
    return error;
  }
  __atomic_store_n(&end_, at + kPageBytes, __ATOMIC_RELAXED);
  ++sequence_;
  __atomic_store_n(&session_->chunk_count, sequence_, __ATOMIC_RELAXED);
  *offset = at;
  *is_mapped = mmap(page, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_,
                    static_cast<off_t>(at)) != MAP_FAILED;
  if (!*is_mapped) std::memcpy(page, &block, sizeof block);
  return 0;
}

int Writer::write_page(const void* page, uint64_t offset) {
  return write_at(page, kPageBytes, offset);
}

int Writer::write_session() { return is_mapped_ ? 0 : write_page(page_, 0); }

SessionBlock* Writer::leave_session(void* to) {
  if (page_ == nullptr || !is_mapped_) return nullptr;
  // One system call moves the page: other threads may be writing to it.
  if (mremap(page_, kPageBytes, kPageBytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
    return nullptr;
  }
  page_ = nullptr;
  session_ = nullptr;
  return reinterpret_cast<SessionBlock*>(static_cast<uint8_t*>(to) + kSessionBlockOffset);
}

void Writer::close() {
  if (page_ != nullptr) munmap(page_, kPageBytes);
  if (is_ours()) ::close(fd_);
  page_ = nullptr;
  session_ = nullptr;
  fd_ = -1;
}

}  // namespace xsp::trace

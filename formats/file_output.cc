#include "formats/file_output.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace xsp::formats {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

// Represents the file while it is written. Where the file system allows it, the file has no name
// yet, so that even a killed process leaves nothing behind; elsewhere it has a temporary name.
class Output {
 public:
  Output(const std::string& path, const WriteOptions& options) : path_(path), options_(options) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (file_ >= 0) ::close(file_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Status open(uint64_t bytes);
  Status append(const void* data, size_t size);
  Status finish();

 private:
  Error error(int number) const;
  int open_nameless() const;
  std::string temporary_name() const;
  Status name_file(const std::string& name);
  Status rename_to(const std::string& name);

  std::string path_;
  const WriteOptions& options_;
  std::string temporary_;  // a name to remove; empty if there is none
  bool is_nameless_ = false;
  int file_ = -1;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
};

Error Output::error(int number) const {
  std::string what_to_do = "give another path with -o";
  std::string why = std::strerror(number);
  if (number == ENOSPC || number == EDQUOT) {
    why = "the disk is full: the model takes " + std::to_string(total_ >> 20) + " MiB";
    what_to_do = "make room, or give a path on another disk";
  }
  if (number == EEXIST) what_to_do = "give another path, or replace it with --force";
  return failed(path_ + ": cannot be written: " + why + ": " + what_to_do);
}

// Returns -1 if the file system has no such files, or if there is no /proc to name them by.
int Output::open_nameless() const {
  if (::access("/proc/self/fd", X_OK) != 0) return -1;
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

std::string Output::temporary_name() const {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    number = static_cast<uint64_t>(::getpid());
  }
  return path_ + "." + std::to_string(number) + ".tmp";
}

// Gives the file a name in addition to its temporary one, or its first name; an existing file is an
// error.
Status Output::name_file(const std::string& name) {
  const std::string descriptor = "/proc/self/fd/" + std::to_string(file_);
  const int linked = is_nameless_ ? ::linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, name.c_str(),
                                             AT_SYMLINK_FOLLOW)
                                  : ::link(temporary_.c_str(), name.c_str());
  if (linked == 0) return Ok{};
  // This file system has no links, as on a memory card. The file did not exist when the writing
  // began.
  if (is_nameless_ || (errno != EPERM && errno != EOPNOTSUPP)) return error(errno);
  return rename_to(name);
}

Status Output::rename_to(const std::string& name) {
  if (::rename(temporary_.c_str(), name.c_str()) != 0) return error(errno);
  temporary_.clear();
  return Ok{};
}

Status Output::open(uint64_t bytes) {
  total_ = bytes;
  struct stat status = {};
  if (::stat(path_.c_str(), &status) == 0) {
    if (!options_.replace) return error(EEXIST);
    if (!S_ISREG(status.st_mode)) return error(S_ISDIR(status.st_mode) ? EISDIR : EEXIST);
  }
  file_ = open_nameless();
  is_nameless_ = file_ >= 0;
  if (!is_nameless_) {
    const std::string name = temporary_name();
    file_ = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file_ < 0) return error(errno);
    temporary_ = name;
  }
  // Reserves the space at once, so that a full disk is noticed before minutes are spent. Not all
  // file systems can do this.
  if (::fallocate(file_, 0, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    return error(errno);
  }
  return Ok{};
}

Status Output::append(const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t wrote = ::write(file_, at, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return error(errno);
    at += wrote;
    size -= static_cast<size_t>(wrote);
    done_ += static_cast<uint64_t>(wrote);
  }
  if (options_.progress && !options_.progress(done_, total_)) {
    return Error{Code::kInterrupted, path_ + ": not written: interrupted: run it again"};
  }
  return Ok{};
}

Status Output::finish() {
  // Errors of a delayed write are reported when a descriptor is closed; this one is still needed.
  const int second = ::dup(file_);
  if (second < 0 || ::close(second) != 0) return error(errno);
  if (!options_.replace) return name_file(path_);
  if (is_nameless_) {
    const std::string name = temporary_name();
    XSP_CHECK_OK(name_file(name));
    temporary_ = name;
  }
  return rename_to(path_);
}

}  // namespace

Status write_pieces(const std::vector<Piece>& pieces, const WeightSource& weights,
                    const std::string& path, const WriteOptions& options) {
  uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.text.size() + piece.weight_bytes;
  Output output(path, options);
  XSP_CHECK_OK(output.open(total));
  std::vector<uint8_t> buffer(kPieceBytes);
  for (const Piece& piece : pieces) {
    XSP_CHECK_OK(output.append(piece.text.data(), piece.text.size()));
    for (uint64_t offset = 0; offset < piece.weight_bytes; offset += kPieceBytes) {
      const size_t size =
          static_cast<size_t>(std::min<uint64_t>(kPieceBytes, piece.weight_bytes - offset));
      weights(static_cast<size_t>(piece.weight), offset, {buffer.data(), size});
      XSP_CHECK_OK(output.append(buffer.data(), size));
    }
  }
  return output.finish();
}

}  // namespace xsp::formats

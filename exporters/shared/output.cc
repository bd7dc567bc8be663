#include "exporters/shared/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace xsp::exporters {
namespace {

constexpr size_t kSpillBytes = 1 << 20;

Error write_error(const std::filesystem::path& path) {
  return failed(path.string() + ": cannot be written: " + std::strerror(errno) +
                ": free some room, or name another file with -o");
}

}  // namespace

Result<Output> Output::create(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return write_error(path);
  return Output(file, path);
}

Output::Output(Output&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      text_(std::move(other.text_)) {}

Output::~Output() {
  if (file_ >= 0) ::close(file_);
}

Status Output::spill() { return text_.size() < kSpillBytes ? Status(Ok{}) : write(); }

Status Output::write() {
  for (size_t at = 0; at < text_.size();) {
    const ssize_t wrote = ::write(file_, text_.data() + at, text_.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return write_error(path_);
    at += static_cast<size_t>(wrote);
  }
  text_.clear();
  return Ok{};
}

Status Output::close() {
  XSP_CHECK_OK(write());
  if (::close(std::exchange(file_, -1)) != 0) return write_error(path_);
  return Ok{};
}

}  // namespace xsp::exporters

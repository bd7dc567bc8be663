#include "desk/sweep/stream.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace xsp::sweep {
namespace {

constexpr size_t kPlanBytesMax = 40 << 20;  // of a plan with one task, and a prediction's file

}  // namespace

Result<std::string> read_line(int fd) {
  std::string line;
  std::vector<char> buffer(64 << 10);
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(std::string("the plan cannot be read: ") + std::strerror(errno));
    const std::string_view read(buffer.data(), static_cast<size_t>(count));
    const size_t end = read.find('\n');
    line += read.substr(0, end);
    if (line.size() > kPlanBytesMax) return corrupt("the plan is too long: send one task");
    if (count == 0 || end != std::string_view::npos) return line;
  }
}

Status send(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return failed(std::string("the answer cannot be sent: ") + std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return Ok{};
}

Status send_file(int fd, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    XSP_CHECK_OK(send(fd, {buffer.data(), static_cast<size_t>(file.gcount())}));
  }
  return Ok{};
}

}  // namespace xsp::sweep

#include "desk/sweep/stream.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace xsp::sweep {
namespace {

constexpr size_t kPlanBytesMax = 1 << 20;  // of a plan with one task

}  // namespace

Result<std::string> read_line(int fd) {
  std::string line;
  char c = 0;
  ssize_t count = 0;
  while ((count = ::read(fd, &c, 1)) != 0 && c != '\n') {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(std::string("the plan cannot be read: ") + std::strerror(errno));
    line += c;
    if (line.size() > kPlanBytesMax) return corrupt("the plan is too long: send one task");
  }
  return line;
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

#include "shared/base/log.h"

#include <string.h>
#include <unistd.h>

#include <cstddef>

namespace xsp {
namespace {

class Line {
 public:
  void append(const char* text) {
    while (*text != '\0' && size_ < sizeof bytes_ - 1) bytes_[size_++] = *text++;
  }
  void write_out() {
    bytes_[size_++] = '\n';
    // There is no other place to report a failure.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, bytes_, size_);
  }

 private:
  char bytes_[512];
  size_t size_ = 0;
};

}  // namespace

void say_once(int* said, const char* what, int error, const char* consequence) {
  if (__atomic_exchange_n(said, 1, __ATOMIC_RELAXED) != 0) return;
  Line line;
  line.append("xsp: ");
  line.append(what);
  if (error != 0) {
    const char* name = strerrorname_np(error);
    const char* text = strerrordesc_np(error);
    line.append(": ");
    line.append(text != nullptr ? text : "unknown error");
    if (name != nullptr) {
      line.append(" (");
      line.append(name);
      line.append(")");
    }
  }
  line.append(": ");
  line.append(consequence);
  line.write_out();
}

}  // namespace xsp

#include "process/record/environment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "shared/base/levels.h"
#include "xsp/xsp.h"

namespace xsp::process {
namespace {

constexpr char kSuffix[] = ".xtrace";

// Builds a text in the caller's buffer and remembers whether it fitted.
class Builder {
 public:
  Builder(char* out, size_t size) : out_(out), free_(size) {}
  void append(const char* text, size_t size) {
    for (size_t i = 0; i < size && fits_; ++i) {
      fits_ = free_ > 1;
      if (!fits_) break;
      *out_++ = text[i];
      --free_;
    }
  }
  void append(const char* text) { append(text, strlen(text)); }
  void append_number(int number) {
    char digits[12];
    size_t begin = sizeof digits;
    for (unsigned rest = static_cast<unsigned>(number); rest != 0 || begin == sizeof digits;
         rest /= 10) {
      digits[--begin] = static_cast<char>('0' + rest % 10);
    }
    append(digits + begin, sizeof digits - begin);
  }
  bool finish() {
    *out_ = '\0';
    return fits_;
  }

 private:
  char* out_;
  size_t free_;
  bool fits_ = true;
};

const char* variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

bool is_disabled() {
  const char* value = variable("XSP_DISABLE");
  return value != nullptr && strcmp(value, "0") != 0;
}

TickSource tick_source_to_use() {
  const char* value = variable("XSP_CLOCK");
  const bool is_refused = value != nullptr && strcmp(value, "monotonic") == 0;
  // The process may have forbidden itself to read the counter.
  int permission = PR_TSC_ENABLE;
  prctl(PR_GET_TSC, &permission);
  const bool can_read = permission == PR_TSC_ENABLE;
  return has_invariant_tsc() && can_read && !is_refused ? TickSource::kTsc : TickSource::kMonotonic;
}

uint32_t levels_to_record(uint32_t asked) {
  if (asked != 0) return asked;
  const char* value = variable("XSP_LEVELS");
  return value == nullptr ? XSP_LEVELS_ALL : levels_named(value);
}

bool path_to_record(const char* asked, int process_id, char* out, size_t size) {
  if (asked == nullptr) asked = variable("XSP_TRACE");
  if (asked == nullptr) asked = "xsp-%p.xtrace";
  Builder path(out, size);
  while (*asked != '\0') {
    if (asked[0] == '%' && asked[1] == 'p') {
      path.append_number(process_id);
      asked += 2;
    } else {
      path.append(asked++, 1);
    }
  }
  return path.finish();
}

bool path_of_process(const char* path, int process_id, char* out, size_t size) {
  const size_t length = strlen(path);
  const size_t suffix = sizeof kSuffix - 1;
  const bool has_suffix = length > suffix && strcmp(path + length - suffix, kSuffix) == 0;
  Builder result(out, size);
  result.append(path, has_suffix ? length - suffix : length);
  result.append(".", 1);
  result.append_number(process_id);
  result.append(kSuffix);
  return result.finish();
}

}  // namespace xsp::process

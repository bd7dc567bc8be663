#include <cstdio>

#include "desk/cli/verbs.h"
#include "shared/base/text.h"

namespace xsp::cli {

int report(const Error& error) {
  std::string line = check_text(error.text).text;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "error: %s\n", line.c_str());
  switch (error.code) {
    case Code::kUsage:
      return 2;
    case Code::kNotAvailable:
      return 4;
    case Code::kFailed:
    case Code::kCorrupt:
    case Code::kOutOfMemory:
    case Code::kInterrupted:
      return 1;
  }
  return 1;
}

}  // namespace xsp::cli

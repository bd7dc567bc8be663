// Text from outside, checked where it comes in: of an argument, a request, a model, a trace.
#ifndef XSP_BASE_TEXT_H_
#define XSP_BASE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xsp {

// No name and no sentence is longer; checking cuts a text here.
inline constexpr size_t kTextBytesMax = 64 << 10;

struct CheckedText {
  std::string text;        // what can be kept: bytes that are no text are U+FFFD, what is too long
                           // is cut
  const char* fault = "";  // why it is not what came in: "not UTF-8", ...; empty: it is
  bool ok() const { return *fault == '\0'; }
};

// The one judge of text: it is UTF-8 of at most `bytes_max` bytes, and of control characters it has
// tabs and ends of lines alone.
CheckedText check_text(std::string_view text, size_t bytes_max = kTextBytesMax);

// For arguments: the error names the argument, and shows what of it is text.
Status require_text(std::string_view what, std::string_view text, size_t bytes_max = kTextBytesMax);
// For attributes: what can be kept; `replaced` counts those that were not kept as they came.
std::string keep_text(std::string_view text, uint64_t& replaced);

}  // namespace xsp

#endif  // XSP_BASE_TEXT_H_

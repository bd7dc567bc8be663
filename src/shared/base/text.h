// Checks text from outside where it enters: from an argument, a request, a model or a trace.
//
// Wrong text that goes into a file is replaced and counted; wrong text in a request is refused.
// Refused: checks in each reader of models and traces, because the next reader forgets it; and
// refusing models and programs with wrong names, because they run.
#ifndef XSP_SHARED_BASE_TEXT_H_
#define XSP_SHARED_BASE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace xsp {

// No name and no sentence is longer; the check cuts a text at this size.
inline constexpr size_t kTextBytesMax = 64 << 10;

struct CheckedText {
  std::string text;        // the valid part: invalid bytes become U+FFFD, the end of a long text is
                           // cut
  const char* fault = "";  // the fault of the input: "not UTF-8", ...; empty: it has none
  bool ok() const { return *fault == '\0'; }
};

// Checks a text; all other checks use this function. A valid text is UTF-8 of at most `bytes_max`
// bytes, and its only control characters are tabs and line ends.
CheckedText check_text(std::string_view text, size_t bytes_max = kTextBytesMax);

// Checks an argument: the error names the argument and shows the valid part of its text.
Status require_text(std::string_view what, std::string_view text, size_t bytes_max = kTextBytesMax);
// Returns the valid part of an attribute's text; `replaced` counts the texts that were changed.
std::string keep_text(std::string_view text, uint64_t& replaced);

}  // namespace xsp

#endif  // XSP_SHARED_BASE_TEXT_H_

// Terminal: what the standard output (or error) can show.
#ifndef XSP_CLI_TERMINAL_H_
#define XSP_CLI_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xsp::cli {

struct Terminal {
  size_t width = 100;  // columns
  bool is_terminal = false;
  bool colours = false;  // a terminal, and neither NO_COLOR nor TERM=dumb is set
  bool utf8 = false;     // the locale's character set
};

// Of a file descriptor: 1 standard output, 2 standard error.
Terminal terminal_of(int descriptor);

enum class Style { kPlain, kTitle, kFaint, kBar, kBad, kGood };
// The text in that style, or the text itself where there are no colours.
std::string styled(const Terminal& terminal, Style style, std::string_view text);

// How many columns a text takes: its code points; bytes that are not UTF-8 count one each.
size_t width_of(std::string_view text);

// The text in at most `width` columns, the middle replaced by an ellipsis.
std::string shortened(const Terminal& terminal, std::string_view text, size_t width);

// A text in lines of at most `width` columns, those after the first indented by `indent`; ends with
// a new line. The spaces that it begins with are kept; no word is cut, so that a long one sticks
// out.
std::string wrapped(std::string_view text, size_t width, size_t indent);

// A bar of `width` columns filled to `part` of 1, in eighths of a column where UTF-8 allows.
std::string bar(const Terminal& terminal, double part, size_t width);

// Writes all of it to the standard output. A reader that went away (| head) is no error.
Status write_stdout(std::string_view text);

}  // namespace xsp::cli

#endif  // XSP_CLI_TERMINAL_H_

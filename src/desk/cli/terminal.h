// Terminal: the abilities of the standard output (or error).
#ifndef XSP_DESK_CLI_TERMINAL_H_
#define XSP_DESK_CLI_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::cli {

struct Terminal {
  size_t width = 100;  // columns
  bool is_terminal = false;
  bool colours = false;  // on a terminal, if neither NO_COLOR nor TERM=dumb is set
  bool utf8 = false;     // the locale's character set is UTF-8
};

// Returns the terminal of a file descriptor: 1 standard output, 2 standard error.
Terminal terminal_of(int descriptor);

enum class Style { kPlain, kTitle, kFaint, kBar, kBad, kGood };
// Returns the text in this style, or unchanged if there are no colours.
std::string styled(const Terminal& terminal, Style style, std::string_view text);

// Returns how many columns a text takes: one for each code point, and one for each byte that is not
// UTF-8.
size_t width_of(std::string_view text);

// Returns the text in at most `width` columns, with an ellipsis in place of its middle if needed.
std::string shortened(const Terminal& terminal, std::string_view text, size_t width);

// Returns each text in at most `width` columns, so that different texts look different wherever the
// width permits: those that would look the same show their beginning, and the place from which on
// they differ.
std::vector<std::string> shortened_apart(const Terminal& terminal,
                                         const std::vector<std::string>& texts, size_t width);

// Wraps a text to lines of at most `width` columns, and indents all but the first by `indent`. Ends
// with a new line. Keeps leading spaces. Cuts no word, so a long one exceeds the width.
std::string wrapped(std::string_view text, size_t width, size_t indent);

// Returns a bar of `width` columns, filled to `part` of 1. Uses eighths of a column if the terminal
// has UTF-8.
std::string bar(const Terminal& terminal, double part, size_t width);

// Writes all of it to the standard output. A reader that has closed the pipe (| head) is no error.
Status write_stdout(std::string_view text);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_TERMINAL_H_

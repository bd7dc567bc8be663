// Help: the text of `xsp --help` and `xsp VERB --help`, wrapped to the terminal.
#ifndef XSP_DESK_CLI_HELP_H_
#define XSP_DESK_CLI_HELP_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace xsp::cli {

// Returns a formatter for all verbs, whose lines have at most `width` columns. Names of options and
// lines that are examples are never divided: an example is there to be copied.
std::shared_ptr<CLI::FormatterBase> help_formatter(size_t width);

// Wraps prose whose paragraphs are divided by empty lines. A line that spaces begin is an item of
// its own, unless it begins below the second word of the item before, which it continues. The
// paragraph that "Example" begins stays as it is.
std::string wrapped_prose(std::string_view text, size_t width);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_HELP_H_

// Messages on standard error: as lines of a log, or wrapped to the terminal.
#ifndef XSP_DESK_CLI_MESSAGES_H_
#define XSP_DESK_CLI_MESSAGES_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "desk/cli/terminal.h"

namespace xsp::cli {

// Returns a message as standard error shows it: on a terminal wrapped to its width; in a log one
// line, which tools can search. Ends with a new line.
std::string message_lines(const Terminal& terminal, std::string_view text, size_t indent);

// Returns a command and what it does: beside it, after `column`, or below it where a line has no
// room. Ends with a new line.
std::string command_lines(const Terminal& terminal, const std::string& begin,
                          const std::string& command, size_t column, const std::string& what);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_MESSAGES_H_

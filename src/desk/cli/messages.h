// Messages on standard error: as lines of a log, or wrapped to the terminal.
#ifndef XSP_DESK_CLI_MESSAGES_H_
#define XSP_DESK_CLI_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "desk/cli/terminal.h"

namespace xsp::cli {

// Returns "1 span" or "2 spans": a number of things, whose name is given for one of them.
std::string counted(uint64_t count, const std::string& one, const std::string& ending = "s");

// Returns what to add to the number of written spans if some were lost; empty: none was.
std::string lost_text(uint64_t lost);

// Returns a message as standard error shows it: on a terminal wrapped to its width; in a log one
// line, which tools can search. Ends with a new line.
std::string message_lines(const Terminal& terminal, std::string_view text, size_t indent);

// Returns a command and what it does: beside it, after `column`, or below it where a line has no
// room. Ends with a new line.
std::string command_lines(const Terminal& terminal, const std::string& begin,
                          const std::string& command, size_t column, const std::string& what);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_MESSAGES_H_

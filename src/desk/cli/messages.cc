#include "desk/cli/messages.h"

#include <algorithm>

namespace xsp::cli {

std::string counted(uint64_t count, const std::string& one, const std::string& ending) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : ending);
}

std::string lost_text(uint64_t lost) {
  if (lost == 0) return "";
  return "; " + std::to_string(lost) + (lost == 1 ? " was" : " were") +
         " lost, see: xsp analyze audit";
}

std::string message_lines(const Terminal& terminal, std::string_view text, size_t indent) {
  if (!terminal.is_terminal) return std::string(text) + "\n";
  return wrapped(text, terminal.width, indent);
}

std::string command_lines(const Terminal& terminal, const std::string& begin,
                          const std::string& command, size_t column, const std::string& what) {
  constexpr size_t kGap = 4;
  std::string line = begin + command;
  const size_t beside = std::max(width_of(begin) + column, width_of(line)) + kGap;
  if (beside + width_of(what) > terminal.width) {
    const size_t indent = width_of(begin) + kGap;
    return line + "\n" + wrapped(std::string(indent, ' ') + what, terminal.width, indent);
  }
  line.append(beside - width_of(line), ' ');
  return line + what + "\n";
}

}  // namespace xsp::cli

// Answer: the text that `xsp run` prints once the command has ended: the duration of a step, its
// causes, and the findings with the largest possible gain. If nothing repeats, it has the lines
// that took the time.
#ifndef XSP_DESK_CLI_ANSWER_H_
#define XSP_DESK_CLI_ANSWER_H_

#include <string>

#include "desk/cli/terminal.h"
#include "desk/store/database.h"

namespace xsp::cli {

struct Answer {
  std::string text;  // some ten lines, each with its line end; empty: nothing useful was recorded
  bool has_steps = false;
};

// Leaves out a part whose analysis fails.
Answer answer_of(store::Database& database, const Terminal& terminal);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_ANSWER_H_

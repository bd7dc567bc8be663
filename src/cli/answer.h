// Answer: what `xsp run` says once the command has ended: how long a step takes, what that is made
// of, and the findings that promise most; where nothing repeats, which lines took the time.
#ifndef XSP_CLI_ANSWER_H_
#define XSP_CLI_ANSWER_H_

#include <string>

#include "cli/terminal.h"
#include "store/database.h"

namespace xsp::cli {

struct Answer {
  std::string text;  // some ten lines, each ended; empty: nothing was recorded that tells
  bool has_steps = false;
};

// A part that cannot be asked is left out.
Answer answer_of(store::Database& database, const Terminal& terminal);

}  // namespace xsp::cli

#endif  // XSP_CLI_ANSWER_H_

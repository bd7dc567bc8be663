// Answer: what `xsp run` says once the command has ended: how long a step takes, what that is made
// of, and the findings that promise most.
#ifndef XSP_CLI_ANSWER_H_
#define XSP_CLI_ANSWER_H_

#include <string>

#include "cli/terminal.h"
#include "store/database.h"

namespace xsp::cli {

// Some ten lines, each ended; empty: nothing repeats in this evaluation. A part that cannot be
// asked is left out.
std::string answer_of(store::Database& database, const Terminal& terminal);

}  // namespace xsp::cli

#endif  // XSP_CLI_ANSWER_H_

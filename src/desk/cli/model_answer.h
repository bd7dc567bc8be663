// ModelAnswer: the text with which `xsp profile` ends: the latency at each batch size, its parts,
// and the findings with the largest possible gain.
#ifndef XSP_DESK_CLI_MODEL_ANSWER_H_
#define XSP_DESK_CLI_MODEL_ANSWER_H_

#include <string>

#include "desk/cli/terminal.h"
#include "desk/store/database.h"

namespace xsp::cli {

// Returns some fifteen lines, each with its line end. Leaves out a part whose analysis fails.
std::string model_answer(store::Database& database, const Terminal& terminal);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_MODEL_ANSWER_H_

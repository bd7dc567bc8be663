// Runs a command as if it had been started by whoever started us.
//
// Thread rule: one thread, the only one while the command is started.
#ifndef XSP_EVALUATE_ATTACH_COMMAND_H_
#define XSP_EVALUATE_ATTACH_COMMAND_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace xsp::evaluate {

// To its end; what waitpid gives. It has the terminal and the standard streams; signals that are
// sent to us meanwhile are passed on to it. `every_second`, which may be empty, is called while it
// runs. Fails if it cannot be run.
Result<int> run_command(const std::filesystem::path& program,
                        const std::vector<std::string>& command,
                        const std::function<void()>& every_second);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_COMMAND_H_

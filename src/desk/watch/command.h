// Runs a command as if the caller of xsp had started it.
//
// Thread rule: one thread, the only one while the command is started.
#ifndef XSP_DESK_WATCH_COMMAND_H_
#define XSP_DESK_WATCH_COMMAND_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::watch {

// Runs the command to its end, and returns the status from waitpid. The command has the terminal
// and the standard streams. Signals that are sent to us meanwhile are passed on to it.
// `every_second`, which may be empty, is called while the command runs. Fails if the command cannot
// be run.
Result<int> run_command(const std::filesystem::path& program,
                        const std::vector<std::string>& command,
                        const std::function<void()>& every_second);

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_COMMAND_H_

// Runs a command as if the caller of xsp had started it.
//
// Thread rule: one thread, the only one while the command is started.
#ifndef XSP_DESK_WATCH_COMMAND_H_
#define XSP_DESK_WATCH_COMMAND_H_

#include <signal.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::watch {

// HeldSignals keeps signals waiting while a command is prepared. A signal that ends a process would
// end us at once, and our temporary files would stay. The first command that runs releases them.
class HeldSignals {
 public:
  HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  // Releases the signals. One that waits does then what it does by default.
  ~HeldSignals();
  void hold();
  void release();
  // Returns whether a signal waits that asks us to end: SIGHUP, SIGINT, SIGQUIT or SIGTERM.
  bool ask_for_end() const;
  // The signals that were blocked before.
  const sigset_t& mask() const { return mask_; }

 private:
  sigset_t mask_ = {};
  bool is_held_ = false;
};

// Runs the command to its end, and returns the status from waitpid. The command has the terminal
// and the standard streams. Signals that are sent to us meanwhile are passed on to it.
// `every_second`, which may be empty, is called while the command runs. Fails if the command cannot
// be run, and if a signal waits that asks us to end: then the command does not start. Returns with
// the signals released if the command has started.
Result<int> run_command(const std::filesystem::path& program,
                        const std::vector<std::string>& command,
                        const std::function<void()>& every_second, HeldSignals& held);

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_COMMAND_H_

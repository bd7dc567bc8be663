// Child: a program that a task runs, whose end, output and life are watched.
#ifndef XSP_DESK_SWEEP_CHILD_H_
#define XSP_DESK_SWEEP_CHILD_H_

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::sweep {

// Takes what a child prints. Returns false to end the child.
using Sink = std::function<bool(std::string_view bytes)>;

struct ChildOptions {
  std::vector<std::string> words;  // words[0] is a path, or is found in PATH
  std::filesystem::path log;       // its standard error, and without `out` its standard output
  Sink out;
  std::string input;  // is given to it; its standard input stays open until it must end
  double limit_s = 0;
  double end_s = 15;  // what it gets to end, before it is killed
  const std::atomic<int>* stop = nullptr;
  std::function<bool()> tick;  // is called several times a second; returns false to end the child
  int lifeline = -1;           // a descriptor; its end means that whoever asked is gone; -1: none
};

struct ChildEnd {
  int status = -1;  // of exit; 128 + the signal that killed it
  bool is_stopped = false;
  bool is_timeout = false;
};

// Runs it to its end. To end it early, closes its input, interrupts it, and kills it if it does not
// end within `end_s`. It ends if this process dies.
//
// Thread rule: the thread must live as long as the call.
Result<ChildEnd> run_child(const ChildOptions& options);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_CHILD_H_

// Reports the progress of an experiment on standard error.
#ifndef XSP_DESK_CLI_PROGRESS_H_
#define XSP_DESK_CLI_PROGRESS_H_

#include <memory>
#include <string>

#include "desk/experiment/listener.h"

namespace xsp::cli {

enum class Verbosity {
  kQuiet,   // only warnings
  kNormal,  // on a terminal a few lines that are redrawn, otherwise one line for each step
};

// `subject` is the name of the profiled model, for the headline. Redraws only if the terminal can,
// within its width. No line of progress remains at the end.
std::unique_ptr<experiment::Listener> make_progress(const std::string& subject,
                                                    Verbosity verbosity);

// Returns text like "±1.2 %": half the interval's width relative to the median; "" without an
// interval.
std::string interval_text(const statistics::Estimate& latency);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_PROGRESS_H_

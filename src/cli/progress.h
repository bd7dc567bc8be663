// Progress of an experiment, on standard error.
#ifndef XSP_CLI_PROGRESS_H_
#define XSP_CLI_PROGRESS_H_

#include <memory>
#include <string>

#include "evaluate/listener.h"

namespace xsp::cli {

enum class Verbosity {
  kQuiet,   // warnings alone
  kNormal,  // on a terminal a few lines that are redrawn, else one line for each step
};

// `subject` is what is profiled, for the headline. Redraws only on a terminal that can, and in its
// width; leaves no line of progress behind.
std::unique_ptr<evaluate::Listener> make_progress(const std::string& subject, Verbosity verbosity);

// "12.3 ms": three significant digits.
std::string duration_text(double nanoseconds);
// "±1.2 %": half the interval's width relative to the median; "" without an interval.
std::string interval_text(const statistics::Estimate& latency);

}  // namespace xsp::cli

#endif  // XSP_CLI_PROGRESS_H_

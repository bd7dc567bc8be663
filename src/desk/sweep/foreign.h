// Foreign: checks a sweep that somebody sent over the network, before any of it is done.
#ifndef XSP_DESK_SWEEP_FOREIGN_H_
#define XSP_DESK_SWEEP_FOREIGN_H_

#include <functional>
#include <string>

#include "desk/sweep/plan.h"
#include "shared/base/result.h"

namespace xsp::sweep {

// Returns why a model may not run for a stranger; ok: it may.
using CheckModel = std::function<Status(const std::string& model)>;

// Checks a sweep's file: it is a sweep, every text in it is a plain word (no path, no option), the
// options are those that only say how to measure, and it has no settings of an engine. Errors begin
// with "FILE:LINE: FIELD: ".
Status check_foreign(const Asked& asked, const CheckModel& check_model);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_FOREIGN_H_

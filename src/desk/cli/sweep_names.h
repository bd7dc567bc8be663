// sweep_names: the names that a sweep's file may have, on the command line and over HTTP.
#ifndef XSP_DESK_CLI_SWEEP_NAMES_H_
#define XSP_DESK_CLI_SWEEP_NAMES_H_

#include "desk/sweep/plan.h"
#include "shared/base/result.h"

namespace xsp::cli {

// A framework counts if xsp knows it, because another machine may have what this one lacks.
Result<sweep::Names> sweep_names();

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SWEEP_NAMES_H_

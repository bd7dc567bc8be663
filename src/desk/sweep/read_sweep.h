// Reads a sweep's file as a tree that fits the schema (schema.json). For src/desk/sweep alone.
#ifndef XSP_DESK_SWEEP_READ_SWEEP_H_
#define XSP_DESK_SWEEP_READ_SWEEP_H_

#include "desk/manifest/yaml.h"
#include "desk/sweep/plan.h"
#include "shared/base/result.h"

namespace xsp::sweep {

// Errors begin with "FILE:LINE: FIELD: ".
Result<manifest::Node> read_sweep(const Asked& asked);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_READ_SWEEP_H_

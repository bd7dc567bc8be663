// What the traces of a command's processes become: one run for each set of levels that was
// recorded, with its steps counted from where the steady state begins.
//
// Rule: docs/decisions.md, "Steps".
#ifndef XSP_EVALUATE_ATTACH_RUNS_H_
#define XSP_EVALUATE_ATTACH_RUNS_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/ingest.h"

namespace xsp::evaluate {

struct RecordedRun {
  store::RunInfo info;
  std::vector<store::RunTrace> traces;
};

// `levels`: bits of what was to be recorded; what was recorded where a trace says nothing else.
// `sets`: the sets that took turns in blocks of steps; fewer than 2: none did.
Result<std::vector<RecordedRun>> runs_of_traces(const std::vector<std::filesystem::path>& traces,
                                                uint32_t levels, const std::vector<uint32_t>& sets,
                                                int first_run_id);

// How many of the first steps are warm-up: what compiles, tunes and allocates. `durations_ns` in
// the order of time.
size_t warmup_steps(std::span<const double> durations_ns);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_RUNS_H_

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
#include "store/database.h"
#include "store/ingest.h"

namespace xsp::evaluate {

struct RecordedRun {
  store::RunInfo info;
  std::vector<store::RunTrace> traces;
};

// `levels`: bits of what was to be recorded; what was recorded where a trace says nothing else.
Result<std::vector<RecordedRun>> runs_of_traces(const std::vector<std::filesystem::path>& traces,
                                                uint32_t levels, int first_run_id);

// The runs in which nothing but steps was recorded: their iterations are these.
Status complete_steps(store::Database& database);
// Why not every level has numbers of its own, where sets of levels should have taken turns; empty:
// all have. The runs are in the file.
Result<std::string> note_of_turns(store::Database& database);

// How many of the first steps are warm-up: what compiles, tunes and allocates. `durations_ns` in
// the order of time.
size_t warmup_steps(std::span<const double> durations_ns);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_RUNS_H_

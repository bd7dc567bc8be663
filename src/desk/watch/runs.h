// Turns the traces of a command's processes into runs: one for each set of levels that was
// recorded. Steps count from the start of the steady state.
//
// Rule: docs/decisions.md, "Steps".
#ifndef XSP_DESK_WATCH_RUNS_H_
#define XSP_DESK_WATCH_RUNS_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "desk/store/database.h"
#include "desk/store/ingest.h"
#include "desk/watch/control.h"
#include "shared/base/result.h"

namespace xsp::watch {

struct RecordedRun {
  store::RunInfo info;
  std::vector<store::RunTrace> traces;
};

// `levels` are the bits that were to be recorded. They apply to traces that do not name their own
// levels.
Result<std::vector<RecordedRun>> runs_of_traces(const std::vector<std::filesystem::path>& traces,
                                                uint32_t levels, int first_run_id);

// Sets the iterations of the runs that recorded only steps to the number of their steps.
Status complete_steps(store::Database& database);
// Returns why some level has no numbers of its own although sets of levels should have taken turns.
// Returns an empty string if every level has its own. The runs must be in the file.
Result<std::string> note_of_turns(store::Database& database);

// Returns why nothing was recorded of the part of the program that the schedule asks for: the
// program ended before it. Returns an empty string if something was recorded, or if the part begins
// with the program. `levels` are the bits that were to be recorded. The runs must be in the file.
Result<std::string> note_of_part(store::Database& database, const Schedule& schedule,
                                 uint32_t levels);

// Returns how many of the first steps are warm-up: those that compile, tune and allocate.
// `durations_ns` is in the order of time.
size_t warmup_steps(std::span<const double> durations_ns);

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_RUNS_H_

// Turns traces that a program recorded of itself, or that another tool recorded, into an
// evaluation.
#ifndef XSP_DESK_WATCH_IMPORT_TRACES_H_
#define XSP_DESK_WATCH_IMPORT_TRACES_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "desk/store/ingest.h"
#include "shared/base/result.h"

namespace xsp::watch {

struct TracesOfRun {
  store::RunInfo info;  // empty levels: those that were recorded
  std::vector<std::filesystem::path> traces;
  // The inferences have their numbers, of which those of the warm-up are negative. Else they are
  // counted, and how many are warm-up follows from their times.
  bool has_iterations = false;
};

struct ImportRequest {
  std::vector<std::filesystem::path> traces;  // files of one run
  // Makes .xtrace files of `traces` in the folder, which is removed afterwards, and returns them by
  // run. A run that the file describes has those levels, and those of another tool have none.
  // It is called in a process that is confined to these files. Nothing: `traces` are .xtrace files.
  std::function<Result<std::vector<TracesOfRun>>(const std::filesystem::path& folder)> convert;
  uint32_t levels = 0;  // bits of the levels that may have been recorded
  std::filesystem::path output;
  std::map<std::string, std::string> facts;  // rows of `evaluation` that the caller knows
};
struct ImportOutcome {
  uint64_t spans = 0;
  uint64_t lost = 0;
};

// Fails if a trace cannot be read or if the output cannot be written. Then the output is left
// unchanged.
Result<ImportOutcome> import_traces(const ImportRequest& request);

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_IMPORT_TRACES_H_

// The logs of MLPerf LoadGen: what it says of a load, and where its files are kept.
#ifndef XSP_DESK_SCENARIO_LOADGEN_LOG_H_
#define XSP_DESK_SCENARIO_LOADGEN_LOG_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::scenario {

// LoadgenSummary holds mlperf_log_summary.txt, which is empty in LoadGen's accuracy mode.
struct LoadgenSummary {
  bool has_result = false;
  bool is_valid = false;
  // LoadGen names what is not satisfied, such as "early stopping", and recommends a remedy.
  std::vector<std::string> unsatisfied, recommendations;
  // In nanoseconds, by name: min, mean, max, p50, ..., p99.90. Those of several streams are of the
  // queries.
  std::map<std::string, double> latencies;
};
LoadgenSummary parse_loadgen_summary(std::string_view text);
// Reads the summary in LoadGen's folder.
Result<LoadgenSummary> read_loadgen_summary(const std::filesystem::path& folder);
// Returns LoadGen's verdict as a line; empty: it has none.
std::string verdict_of(const LoadgenSummary& summary);

// Copies the logs into a folder beside the output: a.loadgen for a.xsp. Logs that lie there are
// replaced, and other files stay. Returns the folder.
Result<std::filesystem::path> keep_loadgen_logs(const std::filesystem::path& folder,
                                                const std::filesystem::path& output);

}  // namespace xsp::scenario

#endif  // XSP_DESK_SCENARIO_LOADGEN_LOG_H_

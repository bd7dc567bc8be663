// Ingest: writes a run's .xtrace files, one for each process, into an .xsp file. It decodes the
// spans, finds their parents and ancestors, and appends them.
#ifndef XSP_DESK_STORE_INGEST_H_
#define XSP_DESK_STORE_INGEST_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desk/correlate/call_numbers.h"
#include "desk/correlate/windowed_source.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::store {

struct BlockInfo {
  int first_iteration = 0;  // counted from the run's first, warm-up included
  int iterations = 0;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  std::optional<double> cpu_mhz;
  std::optional<double> temperature_c;
  std::optional<double> load_1min;
  std::optional<double> gpu_sm_clock_mhz;
  std::optional<double> gpu_memory_clock_mhz;
  std::optional<double> gpu_temperature_c;
  std::optional<double> gpu_power_w;
  std::optional<std::string> gpu_throttle_reasons;
};

// A row of the table `run`, with its blocks. See schema.sql.
struct RunInfo {
  int run_id = 0;
  std::string levels;
  std::optional<int> batch;
  std::string counters;
  std::string framework;
  std::string framework_version;
  std::string device;
  std::optional<int> threads;
  int warmup_iterations = 0;
  int iterations = 0;
  std::string status = "ok";
  std::string reason;
  std::string stopped_by;
  std::vector<BlockInfo> blocks;
};

// The part of a trace that belongs to a run.
struct RunTrace {
  std::filesystem::path path;
  // The run has the spans that began in these windows, which are in the order of time. Empty: all.
  std::vector<correlate::TimeWindow> windows;
  uint32_t levels = ~0u;      // bits; spans of other levels are left out
  int warmup_iterations = 0;  // of this process; its iteration 0 follows them
  // Counts of the earlier processes, if several ran the same program one after another: the
  // iterations of this process follow theirs, and its warm-up precedes theirs.
  int iterations_before = 0;
  int warmup_before = 0;
  bool has_losses = true;  // false: another run counts the losses
  // The iterations of the calls of models. Null: the spans have them.
  std::shared_ptr<const correlate::CallNumbers> calls;
};

struct IngestReport {
  uint64_t spans = 0;
  uint64_t unattributed = 0;  // spans below the model level without a parent
  uint64_t ambiguous = 0;     // parents that are uncertain because of clock jitter
  uint64_t lost = 0;          // sum of the losses, without samples of stacks
};

// Writes the run and all data of its trace. The trace may be incomplete; `run` has what is known
// about the run otherwise. Memory is bounded, however long the trace is.
Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::filesystem::path& trace);
// Does the same for a run of several processes. Each has its trace, in the order of the processes'
// starts. A span stands for each process (type `process`, attribute `parent_process`: the parent's
// id). Its parent is the span of the parent process, if that was running at the start.
Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::vector<std::filesystem::path>& traces);
// Does the same for parts of traces.
Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::vector<RunTrace>& traces);
// Writes a run without a trace, which failed before recording began.
Status record_run(Database& database, const RunInfo& run);

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_INGEST_H_

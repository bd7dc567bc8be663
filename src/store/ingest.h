// Ingest: a run's .xtrace files, one of each process, into an .xsp file: decode, parents,
// ancestors, append.
#ifndef XSP_STORE_INGEST_H_
#define XSP_STORE_INGEST_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "correlate/call_numbers.h"
#include "correlate/windowed_source.h"
#include "store/database.h"

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

// What of a trace belongs to a run.
struct RunTrace {
  std::filesystem::path path;
  // The spans that began in them, in the order of time; empty: all.
  std::vector<correlate::TimeWindow> windows;
  uint32_t levels = ~0u;      // bits: spans of others are left out
  int warmup_iterations = 0;  // of this process: iterations are counted from there
  // Of the processes before it, which ran the same one after another: its iterations follow theirs,
  // and its warm-up goes before theirs.
  int iterations_before = 0;
  int warmup_before = 0;
  bool has_losses = true;  // false: they are counted with another run
  // The iterations of the calls of models; null: the spans say them.
  std::shared_ptr<const correlate::CallNumbers> calls;
};

struct IngestReport {
  uint64_t spans = 0;
  uint64_t unattributed = 0;  // spans below the model level without a parent
  uint64_t ambiguous = 0;     // parents that clock jitter left in doubt
  uint64_t lost = 0;          // sum of the losses, samples of stacks left out
};

// Writes the run and all that its trace holds. The trace may be cut short; `run` says what is known
// of it otherwise. Memory is bounded whatever the trace's length.
Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::filesystem::path& trace);
// The same of a run of several processes, each with its trace, in the order of their starts. The
// span that stands for a process (type `process`, attribute `parent_process`: the parent's id) has
// as parent that which stands for the parent, if it was running then.
Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::vector<std::filesystem::path>& traces);
// The same of parts of traces.
Result<IngestReport> ingest(Database& database, const RunInfo& run,
                            const std::vector<RunTrace>& traces);
// Writes a run that has no trace: one that failed before it began.
Status record_run(Database& database, const RunInfo& run);

}  // namespace xsp::store

#endif  // XSP_STORE_INGEST_H_

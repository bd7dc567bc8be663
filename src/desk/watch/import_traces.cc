#include "desk/watch/import_traces.h"

#include <chrono>
#include <sstream>

#include "desk/experiment/facts.h"
#include "desk/experiment/plan.h"
#include "desk/machine/machine.h"
#include "desk/store/bounded.h"
#include "desk/store/database.h"
#include "desk/store/ingest.h"
#include "desk/watch/runs.h"
#include "shared/base/levels.h"
#include "shared/base/scratch.h"
#include "xsp/xsp.h"

namespace xsp::watch {
namespace {

namespace fs = std::filesystem;

// Returns the bits of all levels with spans. The application level is always included, because it
// tells processes apart.
Result<uint32_t> levels_found(store::Database& database) {
  XSP_TRY(const store::Table table, database.query("SELECT DISTINCT level::BIGINT FROM span"));
  uint32_t levels = XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION);
  for (const auto& row : table.rows) levels |= XSP_LEVEL_BIT(std::get<int64_t>(row[0]));
  return levels;
}

// Lets the spans' own numbers count in place of those that were found. count_warmup() follows.
void take_iterations(RecordedRun* run) {
  run->info.warmup_iterations = 0;
  for (store::RunTrace& trace : run->traces) {
    trace.calls = nullptr;
    trace.warmup_iterations = 0;
  }
}

// Counts the warm-up of a run whose spans have their numbers.
Status count_warmup(store::Database& database, const RecordedRun& run) {
  if (run.traces.empty() || run.traces[0].calls != nullptr) return Ok{};
  XSP_CHECK_OK(database.query(
      "UPDATE run SET warmup_iterations = (SELECT count(DISTINCT (process, iteration)) FROM span "
      "  WHERE span.run_id = run.run_id AND level = 2 AND iteration < 0) WHERE run_id = $run",
      {{"run", int64_t{run.info.run_id}}}));
  return Ok{};
}

// Numbers the runs from 1.
Result<std::vector<RecordedRun>> runs_of(const std::vector<TracesOfRun>& given, uint32_t levels) {
  std::vector<RecordedRun> all;
  for (const TracesOfRun& one : given) {
    XSP_TRY(std::vector<RecordedRun> runs,
            runs_of_traces(one.traces, levels, static_cast<int>(all.size()) + 1));
    for (RecordedRun& run : runs) {
      if (!one.info.levels.empty()) {
        run.info.levels = one.info.levels;
        run.info.batch = one.info.batch;
        run.info.counters = one.info.counters;
        run.info.framework = one.info.framework;
        run.info.framework_version = one.info.framework_version;
        run.info.device = one.info.device;
      }
      if (one.has_iterations) take_iterations(&run);
      all.push_back(std::move(run));
    }
  }
  return all;
}

// `facts` are those of this machine. The caller collects them, because the sandbox does not allow
// their files to be read here.
Result<ImportOutcome> read_traces(const ImportRequest& request,
                                  std::map<std::string, std::string> facts) {
  XSP_TRY(store::Database database, store::Database::create(request.output));
  ImportOutcome outcome;
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  std::vector<TracesOfRun> given = {{{}, request.traces}};
  if (request.convert) {
    XSP_TRY(given, request.convert(scratch->path()));
  }
  XSP_TRY(const std::vector<RecordedRun> runs, runs_of(given, request.levels));
  for (const RecordedRun& run : runs) {
    XSP_TRY(const store::IngestReport report, store::ingest(database, run.info, run.traces));
    outcome.spans += report.spans;
    outcome.lost += report.lost;
    XSP_CHECK_OK(count_warmup(database, run));
  }
  XSP_CHECK_OK(experiment::complete_runs(database));
  XSP_TRY(const uint32_t found, levels_found(database));
  const uint32_t recorded = request.levels & found;
  // If the program switched levels itself, there are several runs, and each has its own levels
  // already. So has a run that the file describes.
  if (runs.size() == 1 && given[0].info.levels.empty()) {
    XSP_CHECK_OK(
        database.query("UPDATE run SET levels = $levels", {{"levels", levels_text(recorded)}}));
  }
  for (uint32_t level = XSP_LEVEL_MODEL; level <= XSP_LEVEL_KERNEL; ++level) {
    if ((recorded & XSP_LEVEL_BIT(level)) != 0) continue;
    facts["not_measured." + std::string(level_name(level))] = "the program did not record it";
  }
  XSP_CHECK_OK(experiment::write_facts(database, facts));
  XSP_CHECK_OK(database.finish());
  return outcome;
}

// Returns the time that the slowest machine may need for traces of this size.
std::chrono::seconds most_time(const std::vector<fs::path>& traces) {
  constexpr uint64_t kBytesPerSecond = 500'000;
  uint64_t bytes = 0;
  for (const fs::path& trace : traces) {
    std::error_code unknown;
    const uint64_t size = fs::file_size(trace, unknown);
    if (!unknown) bytes += size;
  }
  return std::chrono::seconds(120 + bytes / kBytesPerSecond);
}

}  // namespace

Result<ImportOutcome> import_traces(const ImportRequest& request) {
  std::map<std::string, std::string> facts = request.facts;
  facts.merge(machine::Machine().facts());
  store::Bounds bounds;
  for (const fs::path& trace : request.traces) bounds.read.push_back(fs::absolute(trace));
  bounds.folder = fs::absolute(request.output).parent_path();
  bounds.most = most_time(request.traces);
  const std::string what = request.traces.size() == 1 ? request.traces[0].string() : "the traces";
  const auto text = store::bounded(bounds, what, [&]() -> Result<std::string> {
    XSP_TRY(const ImportOutcome outcome, read_traces(request, facts));
    return std::to_string(outcome.spans) + " " + std::to_string(outcome.lost);
  });
  if (!text.ok()) {
    store::Database::remove_remains(request.output);  // a crash leaves some
    return text.error();
  }
  ImportOutcome outcome;
  std::istringstream(*text) >> outcome.spans >> outcome.lost;
  return outcome;
}

}  // namespace xsp::watch

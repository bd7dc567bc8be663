#include "evaluate/import_traces.h"

#include "evaluate/attach_facts.h"
#include "evaluate/attach_runs.h"
#include "evaluate/machine.h"
#include "evaluate/plan.h"
#include "store/database.h"
#include "store/ingest.h"
#include "xsp/xsp.h"

namespace xsp::evaluate {
namespace {

// Bits of the levels that any span is of; processes are told apart whatever there is.
Result<uint32_t> levels_found(store::Database& database) {
  XSP_TRY(const store::Table table, database.query("SELECT DISTINCT level::BIGINT FROM span"));
  uint32_t levels = XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION);
  for (const auto& row : table.rows) levels |= XSP_LEVEL_BIT(std::get<int64_t>(row[0]));
  return levels;
}

}  // namespace

Result<ImportOutcome> import_traces(const ImportRequest& request) {
  XSP_TRY(store::Database database, store::Database::create(request.output));
  ImportOutcome outcome;
  XSP_TRY(const std::vector<RecordedRun> runs, runs_of_traces(request.traces, request.levels, 1));
  for (const RecordedRun& run : runs) {
    XSP_TRY(const store::IngestReport report, store::ingest(database, run.info, run.traces));
    outcome.spans += report.spans;
    outcome.lost += report.lost;
  }
  XSP_CHECK_OK(complete_runs(database));
  XSP_TRY(const uint32_t found, levels_found(database));
  const uint32_t recorded = request.levels & found;
  // Where the program switched levels itself there are several, and each says what it has.
  if (runs.size() == 1) {
    XSP_CHECK_OK(
        database.query("UPDATE run SET levels = $levels", {{"levels", levels_text(recorded)}}));
  }
  std::map<std::string, std::string> facts = request.facts;
  for (uint32_t level = XSP_LEVEL_MODEL; level <= XSP_LEVEL_KERNEL; ++level) {
    if ((recorded & XSP_LEVEL_BIT(level)) != 0) continue;
    facts["not_measured." + std::string(level_name(level))] = "the program did not record it";
  }
  facts.merge(Machine().facts());
  XSP_CHECK_OK(write_facts(database, facts));
  XSP_CHECK_OK(database.finish());
  return outcome;
}

}  // namespace xsp::evaluate

#include "evaluate/import_traces.h"

#include "evaluate/attach_facts.h"
#include "evaluate/attach_runs.h"
#include "evaluate/machine.h"
#include "evaluate/plan.h"
#include "store/database.h"
#include "store/ingest.h"
#include "xsp/xsp.h"

namespace xsp::evaluate {

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
  std::map<std::string, std::string> facts = request.facts;
  for (uint32_t level = XSP_LEVEL_MODEL; level <= XSP_LEVEL_KERNEL; ++level) {
    if ((request.levels & XSP_LEVEL_BIT(level)) != 0) continue;
    facts["not_measured." + std::string(level_name(level))] = "the program did not record it";
  }
  facts.merge(Machine().facts());
  XSP_CHECK_OK(write_facts(database, facts));
  XSP_CHECK_OK(database.finish());
  return outcome;
}

}  // namespace xsp::evaluate

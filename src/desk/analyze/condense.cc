#include "desk/analyze/condense.h"

#include <string>

#include "desk/analyze/prelude.h"
#include "desk/store/values.h"

namespace xsp::analyze {
namespace {

// Returns why the file cannot be condensed, and what to do; '': it can.
constexpr const char* kObstacle = R"(
  SELECT CASE
    WHEN EXISTS (FROM audit_fact WHERE name = 'condensed_spans') THEN
      'is condensed already: use it as it is'
    WHEN fact_of('recorded_by') IS NOT NULL THEN
      'is of a watched program, whose analyses ask for all of its steps: keep it as it is'
    WHEN NOT EXISTS (FROM measured_inference) THEN
      'has no inferences: name an evaluation in which some were measured'
    ELSE '' END)";

constexpr const char* kKept = R"(
  CREATE TEMP TABLE kept AS
  WITH whole AS (
    SELECT run_id, process, iteration FROM measured_inference WHERE is_typical
    UNION
    SELECT run_id, process, iteration FROM measured_inference JOIN run USING (run_id)
    WHERE has_counters(counters)
    UNION
    SELECT run_id, coalesce(process, 0), min(iteration) FROM span
    WHERE level = 5 AND type = 'memory' AND iteration >= 0 GROUP BY ALL)
  SELECT s.run_id, s.span_id FROM span s
    LEFT JOIN whole w ON w.run_id = s.run_id AND w.iteration = s.iteration
      AND w.process = coalesce(s.process, 0)
    LEFT JOIN layer_run l ON l.run_id = s.run_id AND s.level = 3 AND s.iteration >= 0
  WHERE s.level <= 2 OR w.run_id IS NOT NULL OR l.run_id IS NOT NULL)";

// Counts the spans that are left out, for the audit of the copy.
constexpr const char* kAddedFacts = R"(
  CREATE TEMP TABLE added_fact AS
  WITH left_out AS (SELECT run_id, span_id FROM span ANTI JOIN kept USING (run_id, span_id)
                    WHERE run_id IN (SELECT run_id FROM audit_fact))
  SELECT run_id, 'condensed_spans' AS name, count(*) AS value FROM left_out GROUP BY run_id
  UNION ALL
  SELECT run_id, 'condensed_outside', count(*) FROM spans_outside() SEMI JOIN left_out
    USING (run_id, span_id) GROUP BY run_id
  UNION ALL
  SELECT run_id, 'condensed_idle_calls', count(*) FROM idle_calls() SEMI JOIN left_out
    USING (run_id, span_id) GROUP BY run_id)";

}  // namespace

Result<store::Subset> condense(const std::filesystem::path& file,
                               const std::filesystem::path& output) {
  return store::write_subset(file, output, [&](store::Database& database) -> Status {
    XSP_TRY(const store::Table obstacle, query_with_prelude(database, kObstacle));
    const std::string why = store::text_of(obstacle.rows[0][0]);
    if (!why.empty()) return usage(file.string() + ": " + why);
    XSP_TRY(const store::Table kept, query_with_prelude(database, kKept));
    XSP_TRY(const store::Table facts, query_with_prelude(database, kAddedFacts));
    return Ok{};
  });
}

}  // namespace xsp::analyze

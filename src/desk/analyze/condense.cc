#include "desk/analyze/condense.h"

#include <cstdint>
#include <map>
#include <string>

#include "desk/analyze/prelude.h"
#include "desk/store/values.h"

namespace xsp::analyze {
namespace {

// Returns why the file cannot be condensed, and what to do; '': it can.
constexpr const char* kObstacle = R"(
  SELECT CASE
    WHEN EXISTS (FROM audit_fact WHERE name = 'condensed_spans') AND $most IS NULL THEN
      'is condensed already: use it as it is, or with --inferences'
    WHEN fact_of('recorded_by') IS NOT NULL THEN
      'is of a watched program, whose analyses ask for all of its steps: keep it as it is'
    WHEN NOT EXISTS (FROM measured_inference) THEN
      'has no inferences: name an evaluation in which some were measured'
    ELSE '' END)";

// The inferences that the copy leaves out, with their latency, of runs that recorded more than the
// level model: all but $most of each. A fifth of what is left is faster, and a fifth slower, than
// the rest, as before, so what was typical stays typical. Each of the three parts is cut into as
// many strata of equal latency as it may have inferences, and each stratum keeps its middle, so the
// means stay where they were (stratified sampling). An inference with events of an allocator comes
// first.
//
// A run that counts kernels tells one count in each of the inferences that it took: one of these is
// kept.
constexpr const char* kDropped = R"(
  CREATE TEMP TABLE dropped AS
  WITH deep AS (
    SELECT run_id, any_value(has_counters(counters)) AS counts
    FROM measured_inference JOIN run USING (run_id)
    WHERE contains(levels, ',') AND $most IS NOT NULL
    GROUP BY run_id HAVING count(*) > $most),
  with_memory AS (
    SELECT run_id, coalesce(process, 0) AS process, min(iteration) AS iteration FROM span
    WHERE level = 5 AND type = 'memory' AND iteration >= 0 GROUP BY ALL),
  part AS (
    SELECT i.run_id, i.process, i.iteration, is_typical, is_below,
      m.run_id IS NOT NULL AS has_memory,
      row_number() OVER part_by_latency - 1 AS rank, count(*) OVER part AS size,
      least(size, CASE WHEN is_typical THEN $most - 2 * ($most // 5) ELSE $most // 5 END) AS wanted
    FROM measured_inference i JOIN deep d ON d.run_id = i.run_id AND NOT d.counts
      LEFT JOIN with_memory m ON m.run_id = i.run_id AND m.process = i.process
        AND m.iteration = i.iteration
    WINDOW part AS (PARTITION BY i.run_id, is_typical, is_below),
      part_by_latency AS (part ORDER BY duration_ns, i.iteration, i.process)),
  stratum AS (
    SELECT *, rank * wanted // size AS stratum,
      abs((2 * rank + 1) * wanted - (2 * stratum + 1) * size) AS from_middle FROM part),
  tally AS (
    SELECT s.run_id, coalesce(s.process, 0) AS process, s.iteration,
      sum(hash(s.site_id, c.name, c.value) % 1000003) AS tally
    FROM span_counter c JOIN span s USING (run_id, span_id) SEMI JOIN deep USING (run_id)
    WHERE s.level = 6 AND s.iteration >= 0 GROUP BY ALL),
  count_of AS (
    SELECT i.run_id, i.process, i.iteration, tally,
      row_number() OVER (PARTITION BY i.run_id, tally ORDER BY i.iteration, i.process) AS copy,
      dense_rank() OVER (PARTITION BY i.run_id ORDER BY tally) AS place
    FROM measured_inference i JOIN deep d ON d.run_id = i.run_id AND d.counts
      LEFT JOIN tally t ON t.run_id = i.run_id AND t.process = i.process
        AND t.iteration = i.iteration)
  (SELECT run_id, process, iteration FROM stratum
    QUALIFY row_number() OVER (PARTITION BY run_id, is_typical, is_below, stratum
      ORDER BY has_memory DESC, from_middle, rank) > 1 OR wanted = 0)
  UNION ALL
  SELECT run_id, process, iteration FROM count_of
  WHERE tally IS NOT NULL AND (copy > 1 OR place > $most))";

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
    -- The kernels tell the times of layers that the host launched, if others are in a graph.
    LEFT JOIN (
      SELECT run_id, r.on_device AND v.on_host AS is_mixed
      FROM layer_run r JOIN run_level v USING (run_id) WHERE v.level = 3) l
      ON l.run_id = s.run_id AND s.iteration >= 0 AND (s.level = 3 OR (s.level = 6 AND l.is_mixed))
    ANTI JOIN dropped d ON d.run_id = s.run_id AND d.iteration = s.iteration
      AND d.process = coalesce(s.process, 0)
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
    USING (run_id, span_id) GROUP BY run_id
  UNION ALL
  SELECT run_id, 'condensed_inferences', count(*) FROM dropped GROUP BY run_id)";

}  // namespace

Result<store::Subset> condense(const std::filesystem::path& file,
                               const std::filesystem::path& output, std::optional<int> most) {
  const std::map<std::string, store::Value> parameters = {
      {"most", most ? store::Value(int64_t{*most}) : store::Value()}};
  return store::write_subset(file, output, [&](store::Database& database) -> Status {
    XSP_TRY(const store::Table obstacle, query_with_prelude(database, kObstacle, parameters));
    const std::string why = store::text_of(obstacle.rows[0][0]);
    if (!why.empty()) return usage(file.string() + ": " + why);
    XSP_TRY(const store::Table dropped, query_with_prelude(database, kDropped, parameters));
    XSP_TRY(const store::Table kept, query_with_prelude(database, kKept));
    XSP_TRY(const store::Table facts, query_with_prelude(database, kAddedFacts));
    return Ok{};
  });
}

}  // namespace xsp::analyze

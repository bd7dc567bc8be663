#include "desk/compare/sides.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/compare/tables.h"

namespace xsp::compare {
namespace {

using store::Database;
using store::Table;
using store::Value;

// Returns one row for each batch size: the calls of the model. If each block is a process of its
// own, the interval includes the spread between processes. is_hidden: the call does not show the
// model's time, which is that of the program's step (model_time).
const char* const kCallsSql = R"(
  WITH place AS (
    SELECT run_id, count(DISTINCT process) AS processes, count(DISTINCT block) AS blocks,
      count(DISTINCT (block, process)) AS pairs
    FROM measured_inference GROUP BY run_id)
  SELECT CAST(batch AS BIGINT), CAST(inferences AS BIGINT), latency_ns, low_ns, high_ns,
    quantile_of(sorted, 0.5), quantile_of(sorted, 0.99), CAST(inputs_of(batch) AS DOUBLE),
    p.blocks > 1 AND p.processes = p.blocks AND p.pairs = p.blocks,
    EXISTS (SELECT 1 FROM block b WHERE b.run_id = m.run_id),
    coalesce(batch IN (SELECT batch FROM model_time WHERE step_ns IS NOT NULL), false) AS is_hidden
  FROM model_latency m JOIN place p USING (run_id))";
const char* const kCallResidualsSql = R"(
  SELECT CAST(batch AS BIGINT), CAST(block AS BIGINT), CAST(residual_ns AS DOUBLE)
  FROM model_latency JOIN latency_residual USING (run_id) ORDER BY batch, block)";

// Returns the step of the program, as time_of_step tells it, in at most one row.
const char* const kStepSql = R"(
  SELECT CAST(batch AS BIGINT), CAST(steps AS BIGINT), step_ns, step_ns - half_ns,
    step_ns + half_ns, quantile_of(list_sort(in_order), 0.5),
    quantile_of(list_sort(in_order), 0.99),
    CAST(inputs_of(batch) * nullif(inferences, 0) AS DOUBLE), kind, part,
    CAST(inferences AS DOUBLE), CAST(processes AS BIGINT)
  FROM program_step)";
// The residuals of the step's twenty consecutive parts.
const char* const kStepResidualsSql = R"(
  WITH step AS (
    SELECT unnest(in_order) AS value, unnest(range(len(in_order))) AS place, len(in_order) AS n,
      step_ns
    FROM program_step)
  SELECT CAST(place * least(20, n) // n AS BIGINT) AS block,
    CAST((sum(value) - count(*) * any_value(step_ns)) / any_value(n) AS DOUBLE)
  FROM step GROUP BY block ORDER BY block)";

const char* const kDoubtsSql = R"(
  SELECT CAST(batch AS BIGINT), kind, doubt FROM level_doubt WHERE level = 2
  ORDER BY batch, kind, doubt)";

// The model-only runs without numbers.
const char* const kOthersSql = R"(
  SELECT CAST(batch AS BIGINT), status, reason FROM run
  WHERE deepest_level(levels) = 2 AND NOT has_counters(counters)
    AND run_id NOT IN (SELECT run_id FROM model_latency) ORDER BY run_id)";

// Returns whether a device does the work of a batch size, and the part of the latency, or of the
// step, in which it waits for the host. The analysis bottleneck calls that host and launch.
const char* const kHostSql = R"(
  SELECT EXISTS (SELECT 1 FROM model_latency m JOIN run_device r USING (run_id)
                 WHERE m.batch = $batch AND NOT is_cpu(r.device)),
    (SELECT CAST(coalesce(sum(duration_ns) FILTER (
              cause NOT IN ('busy', 'device', 'copy', 'copy preparation')), 0)
       / sum(duration_ns) AS DOUBLE)
     FROM device_cause WHERE cause <> 'recording'))";

Measured measured_of(const std::vector<Value>& row) {
  Measured one;
  one.latency_ns.count = static_cast<size_t>(std::get<int64_t>(row[1]));
  one.latency_ns.mean = number_of(row[2]).value_or(0);
  const auto low = number_of(row[3]), high = number_of(row[4]);
  if (low && high) one.latency_ns.interval = statistics::Interval{*low, *high};
  one.median_ns = number_of(row[5]);
  one.p99_ns = number_of(row[6]);
  one.inputs = number_of(row[7]);
  return one;
}

Status read_steps(Database& database, Model* model) {
  XSP_TRY(const Table steps, analyze::query_with_prelude(database, kStepSql));
  if (steps.rows.empty()) return Ok{};
  const auto& row = steps.rows[0];
  Measured one = measured_of(row);
  one.step = {text_of(row[8]), text_of(row[9]), number_of(row[10]).value_or(0),
              std::get<int64_t>(row[11])};
  XSP_TRY(const Table residuals, analyze::query_with_prelude(database, kStepResidualsSql));
  for (const auto& part : residuals.rows) {
    one.latency_ns.residuals.push_back(
        {static_cast<int>(std::get<int64_t>(part[0])), number_of(part[1]).value_or(0)});
  }
  model->steps.emplace(std::get<int64_t>(row[0]), std::move(one));
  return Ok{};
}

Status read_calls(Database& database, Model* model) {
  XSP_TRY(const Table calls, analyze::query_with_prelude(database, kCallsSql));
  for (const auto& row : calls.rows) {
    const int64_t batch = std::get<int64_t>(row[0]);
    Measured& one = model->by_batch[batch] = measured_of(row);
    one.blocks_are_processes = std::get<bool>(row[8]);
    one.has_blocks = std::get<bool>(row[9]);
    if (std::get<bool>(row[10])) model->hidden.insert(batch);
  }
  XSP_TRY(const Table residuals, analyze::query_with_prelude(database, kCallResidualsSql));
  for (const auto& row : residuals.rows) {
    model->by_batch[std::get<int64_t>(row[0])].latency_ns.residuals.push_back(
        {static_cast<int>(std::get<int64_t>(row[1])), number_of(row[2]).value_or(0)});
  }
  return Ok{};
}

Status read_doubts(Database& database, Model* model) {
  XSP_TRY(const Table doubts, analyze::query_with_prelude(database, kDoubtsSql));
  for (const auto& row : doubts.rows) {
    for (auto* measured : {&model->by_batch, &model->steps}) {
      const auto found = measured->find(std::get<int64_t>(row[0]));
      if (found == measured->end()) continue;
      found->second.doubts.push_back({text_of(row[1]), text_of(row[2])});
    }
  }
  return Ok{};
}

Status read_others(Database& database, Model* model) {
  XSP_TRY(const Table table, analyze::query_with_prelude(database, kOthersSql));
  for (const auto& row : table.rows) {
    const bool has_failed = text_of(row[1]) == "failed";
    const Unmeasured one = {has_failed ? kFailed : kInterrupted, text_of(row[2])};
    if (const auto* batch = std::get_if<int64_t>(&row[0])) {
      model->others[*batch] = one;
    } else if (has_failed) {
      model->at_own_batch = one;
    }
  }
  return Ok{};
}

}  // namespace

Result<Model> read_model(Database& database) {
  Model model;
  XSP_CHECK_OK(read_calls(database, &model));
  XSP_CHECK_OK(read_steps(database, &model));
  XSP_CHECK_OK(read_doubts(database, &model));
  XSP_CHECK_OK(read_others(database, &model));
  XSP_TRY(const Table why, analyze::query_with_prelude(database, "SELECT why_no_level('model')"));
  model.why = text_of(why.rows.at(0).at(0));
  XSP_TRY(const Table facts,
          analyze::query_with_prelude(database,
                                      "SELECT fact_of('experiment.id'), "
                                      "try_cast(fact_of('experiment.width_pct') AS DOUBLE), "
                                      "try_cast(fact_of('machine.other_load_pct') AS DOUBLE), "
                                      "fact_of('not_measured.batch') IS NULL"));
  const auto& row = facts.rows.at(0);
  model.experiment = text_of(row[0]);
  model.width_pct = number_of(row[1]);
  model.is_batch_known = std::get<bool>(row[3]);
  model.spread = process_spread(number_of(row[2]).value_or(0) / 100);
  return model;
}

Status read_host_share(Database& database, int64_t batch, Model* model) {
  const auto found = model->by_batch.find(batch);
  if (found == model->by_batch.end()) return Ok{};
  XSP_CHECK_OK(analyze::ask_for(database, {.batch = batch}));
  XSP_TRY(const Table table, analyze::query_with_prelude(database, kHostSql, {{"batch", batch}}));
  found->second.on_device = std::get<bool>(table.rows.at(0)[0]);
  found->second.host_share = number_of(table.rows.at(0)[1]);
  return analyze::ask_for(database, {});
}

void choose_unit(int64_t batch, std::vector<Model>* models, std::vector<std::string>* notes) {
  std::vector<size_t> measured, without;
  for (size_t e = 0; e < models->size(); ++e) {
    const Model& model = (*models)[e];
    const bool has_step = model.steps.count(batch) > 0;
    if (has_step || model.by_batch.count(batch) > 0) measured.push_back(e);
    if (!has_step && model.by_batch.count(batch) > 0) without.push_back(e);
  }
  const bool is_known = std::all_of(models->begin(), models->end(),
                                    [](const Model& model) { return model.is_batch_known; });
  const std::string at = is_known ? "batch " + std::to_string(batch) + ": " : "";
  for (const size_t e : measured) {
    Model& model = (*models)[e];
    const auto step = model.steps.find(batch);
    if (step == model.steps.end()) continue;
    if (without.empty() || model.hidden.count(batch) > 0) {
      model.by_batch[batch] = step->second;
    } else if (model.by_batch.count(batch) > 0) {
      notes->push_back(at + letter_of(e) + " repeats a step and " + letter_of(without[0]) +
                       " does not, so the calls of the model are compared, not the step");
    }
    if (!without.empty() && model.hidden.count(batch) > 0) {
      notes->push_back(at + "the step of " + letter_of(e) + " is compared with an inference of " +
                       letter_of(without[0]) + ", because a call of " + letter_of(e) +
                       " does not show the model's time");
    }
  }
  if (!without.empty() || measured.size() < 2) return;
  const size_t first = measured[0];
  const Step& a = *(*models)[first].by_batch[batch].step;
  for (const size_t e : measured) {
    const Step& b = *(*models)[e].by_batch[batch].step;
    if (a.kind != b.kind || a.part != b.part) {
      notes->push_back(at + "a step of " + letter_of(first) + " is " + a.part + ", by " + a.kind +
                       "; of " + letter_of(e) + " " + b.part + ", by " + b.kind);
    }
    if (std::abs(a.inferences - b.inferences) > 0.05 * std::max(a.inferences, b.inferences)) {
      char text[120];
      std::snprintf(text, sizeof text, "a step of %s calls the model %.3g times, of %s %.3g times",
                    letter_of(first).c_str(), a.inferences, letter_of(e).c_str(), b.inferences);
      notes->push_back(at + text);
    }
  }
}

}  // namespace xsp::compare

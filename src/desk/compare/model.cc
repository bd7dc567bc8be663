// The table `model`: a row for each batch size.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "desk/analyze/prelude.h"
#include "desk/analyze/run.h"
#include "desk/compare/tables.h"
#include "desk/statistics/typical.h"

namespace xsp::compare {
namespace {

using statistics::Estimate;
using store::Database;
using store::Table;
using store::Value;

// Returns one row for each batch size. If each block is a process of its own, the interval includes
// the spread between processes. If the program's step is the model's time (model_time), it is
// used, in twenty consecutive parts.
const char* const kLatencySql = R"(
  WITH place AS (
    SELECT run_id, count(DISTINCT process) AS processes, count(DISTINCT block) AS blocks,
      count(DISTINCT (block, process)) AS pairs
    FROM measured_inference GROUP BY run_id),
  early AS (SELECT * FROM model_time WHERE step_ns IS NOT NULL)
  SELECT CAST(batch AS BIGINT), CAST(coalesce(steps, inferences) AS BIGINT),
    coalesce(step_ns, latency_ns), CASE WHEN step_ns IS NULL THEN low_ns ELSE step_ns - half_ns END,
    CASE WHEN step_ns IS NULL THEN high_ns ELSE step_ns + half_ns END,
    quantile_of(CASE WHEN step_ns IS NULL THEN sorted ELSE list_sort(in_order) END, 0.5),
    quantile_of(CASE WHEN step_ns IS NULL THEN sorted ELSE list_sort(in_order) END, 0.99),
    CAST(inputs_of(batch) *
         CASE WHEN step_ns IS NULL THEN 1 ELSE nullif(inferences_in_step, 0) END AS DOUBLE),
    step_ns IS NULL AND p.blocks > 1 AND p.processes = p.blocks AND p.pairs = p.blocks,
    step_ns IS NULL AND EXISTS (SELECT 1 FROM block b WHERE b.run_id = m.run_id)
  FROM model_latency m JOIN place p USING (run_id) LEFT JOIN early USING (batch))";

const char* const kResidualsSql = R"(
  WITH early AS MATERIALIZED (SELECT * FROM model_time WHERE step_ns IS NOT NULL),
  step AS (
    SELECT batch, unnest(in_order) AS value, unnest(range(len(in_order))) AS place,
      len(in_order) AS n, step_ns
    FROM early)
  SELECT CAST(batch AS BIGINT) AS batch, CAST(block AS BIGINT) AS block,
    CAST(residual_ns AS DOUBLE) AS residual_ns
  FROM model_latency JOIN latency_residual USING (run_id)
  WHERE batch NOT IN (SELECT batch FROM early)
  UNION ALL
  SELECT CAST(batch AS BIGINT), CAST(place * least(20, n) // n AS BIGINT),
    CAST((sum(value) - count(*) * any_value(step_ns)) / any_value(n) AS DOUBLE)
  FROM step GROUP BY batch, place * least(20, n) // n
  ORDER BY batch, block)";

const char* const kDoubtsSql = R"(
  SELECT CAST(batch AS BIGINT), kind, doubt FROM level_doubt WHERE level = 2
  ORDER BY batch, kind, doubt)";

// The model-only runs without numbers.
const char* const kOthersSql = R"(
  SELECT CAST(batch AS BIGINT), status, reason FROM run
  WHERE deepest_level(levels) = 2 AND NOT has_counters(counters)
    AND run_id NOT IN (SELECT run_id FROM model_latency) ORDER BY run_id)";

// One evaluation at one batch size: its doubts, and its numbers or the reason why it has none.
struct Doubt {
  std::string kind;  // kind in the view level_doubt
  std::string text;
};
struct Measured {
  Estimate latency_ns;
  std::optional<double> median_ns, p99_ns, inputs;
  bool has_blocks = false;  // whether it was measured in blocks
  bool blocks_are_processes = false;
  std::vector<Doubt> doubts;
};
struct Unmeasured {
  std::string state;
  std::string reason;
};
// One evaluation, by batch size.
struct Model {
  std::map<int64_t, Measured> by_batch;
  std::map<int64_t, Unmeasured> others;
  std::optional<Unmeasured> at_own_batch;  // a model that failed before its batch size was known
  std::string why;                         // why it was not measured at all
  std::string experiment;                  // id of an experiment with several files; empty: none
  std::optional<double> width_pct;         // wanted width of the ratio
  double spread = 0;                       // allowance for the spread, if there is one process
};

Status read_latencies(Database& database, Model* model) {
  XSP_TRY(const Table latencies, analyze::query_with_prelude(database, kLatencySql));
  for (const auto& row : latencies.rows) {
    Measured& one = model->by_batch[std::get<int64_t>(row[0])];
    one.latency_ns.count = static_cast<size_t>(std::get<int64_t>(row[1]));
    one.latency_ns.mean = number_of(row[2]).value_or(0);
    const auto low = number_of(row[3]), high = number_of(row[4]);
    if (low && high) one.latency_ns.interval = statistics::Interval{*low, *high};
    one.median_ns = number_of(row[5]);
    one.p99_ns = number_of(row[6]);
    one.inputs = number_of(row[7]);
    one.blocks_are_processes = std::get<bool>(row[8]);
    one.has_blocks = std::get<bool>(row[9]);
  }
  XSP_TRY(const Table residuals, analyze::query_with_prelude(database, kResidualsSql));
  for (const auto& row : residuals.rows) {
    model->by_batch[std::get<int64_t>(row[0])].latency_ns.residuals.push_back(
        {static_cast<int>(std::get<int64_t>(row[1])), number_of(row[2]).value_or(0)});
  }
  XSP_TRY(const Table doubts, analyze::query_with_prelude(database, kDoubtsSql));
  for (const auto& row : doubts.rows) {
    const auto found = model->by_batch.find(std::get<int64_t>(row[0]));
    if (found == model->by_batch.end()) continue;
    found->second.doubts.push_back({text_of(row[1]), text_of(row[2])});
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

Result<Model> measured(Database& database) {
  Model model;
  XSP_CHECK_OK(read_latencies(database, &model));
  XSP_CHECK_OK(read_others(database, &model));
  XSP_TRY(const Table why, analyze::query_with_prelude(database, "SELECT why_no_level('model')"));
  model.why = text_of(why.rows.at(0).at(0));
  XSP_TRY(const Table facts,
          analyze::query_with_prelude(database,
                                      "SELECT fact_of('experiment.id'), "
                                      "try_cast(fact_of('experiment.width_pct') AS DOUBLE), "
                                      "try_cast(fact_of('machine.other_load_pct') AS DOUBLE)"));
  const auto& row = facts.rows.at(0);
  model.experiment = text_of(row[0]);
  model.width_pct = number_of(row[1]);
  model.spread = process_spread(number_of(row[2]).value_or(0) / 100);
  return model;
}

// One evaluation at a batch size: its numbers, or its state.
struct Side {
  const Measured* measured = nullptr;
  std::string state = kMeasured;
  std::string verdict;  // why there are no numbers, if there are none
};

Side side_of(const Model& model, int64_t batch) {
  Side side;
  const auto found = model.by_batch.find(batch);
  if (found != model.by_batch.end()) {
    side.measured = &found->second;
    return side;
  }
  const auto other = model.others.find(batch);
  const Unmeasured* why = other != model.others.end() ? &other->second
                          : model.at_own_batch        ? &*model.at_own_batch
                                                      : nullptr;
  side.state = why != nullptr ? why->state : kNotTried;
  if (side.state == kFailed) {
    side.verdict = "failed: " + why->reason;
  } else if (why != nullptr) {
    side.verdict = "not measured: " + why->reason;
  } else {
    side.verdict = model.by_batch.empty() && !model.why.empty()
                       ? "not measured: " + model.why
                       : "not measured: not tried at this batch size";
  }
  return side;
}

std::string blocks_text(const Measured& one, size_t evaluation) {
  const size_t blocks = one.latency_ns.residuals.size();
  const std::string unit = one.blocks_are_processes ? "process" : "block";
  const std::string ending = blocks == 1 ? "" : one.blocks_are_processes ? "es" : "s";
  return letter_of(evaluation) + " has " + std::to_string(one.latency_ns.count) +
         " inferences in " + std::to_string(blocks) + " " + unit + ending;
}

std::string too_few_blocks(const Measured& a, const Measured& b, size_t evaluation) {
  const bool is_a = !a.latency_ns.interval;
  std::string who = is_a ? blocks_text(a, 0) : blocks_text(b, evaluation);
  if (is_a && !b.latency_ns.interval) who += ", " + blocks_text(b, evaluation);
  return "too few blocks: " + who + ": an interval needs " + std::to_string(statistics::kBlocksMin);
}

bool is_paired(const Model& first, const Model& second) {
  return !first.experiment.empty() && first.experiment == second.experiment;
}

// Adds the cells state, ratio, low, high, significant, verdict. Adds to `allowed` the evaluations
// whose interval allows for the spread between processes.
void add_verdict(const Model& first, const Model& second, int64_t batch, size_t evaluation,
                 std::set<size_t>* allowed, std::vector<Value>* cells) {
  const Side a = side_of(first, batch);
  const Side b = side_of(second, batch);
  cells->push_back(b.state);
  const auto none = [&](const std::string& verdict) {
    cells->insert(cells->end(), 4, std::monostate{});
    cells->push_back(verdict);
  };
  if (b.measured == nullptr) return none(b.verdict);
  if (a.measured == nullptr) return none("no reference: A: " + a.verdict);
  const Estimate& of_a = a.measured->latency_ns;
  const Estimate& of_b = b.measured->latency_ns;
  const bool of_one_experiment = is_paired(first, second);
  const double spread_a = a.measured->blocks_are_processes ? 0 : first.spread;
  const double spread_b = b.measured->blocks_are_processes ? 0 : second.spread;
  const auto ratio =
      of_one_experiment
          ? statistics::paired_ratio(of_a, of_b)
          : statistics::unpaired_ratio(of_a, of_b, std::hypot(spread_a, spread_b) / std::sqrt(2.0));
  if (!ratio) return none("no ratio: a latency is zero");
  if (!ratio->interval) {
    cells->push_back(ratio->value);
    cells->insert(cells->end(), 3, std::monostate{});
    cells->push_back(too_few_blocks(*a.measured, *b.measured, evaluation));
    return;
  }
  if (!of_one_experiment && spread_a > 0) allowed->insert(0);
  if (!of_one_experiment && spread_b > 0) allowed->insert(evaluation);
  const bool is_significant = ratio->interval->low > 1 || ratio->interval->high < 1;
  cells->insert(cells->end(),
                {ratio->value, ratio->interval->low, ratio->interval->high, is_significant});
  cells->push_back(std::string(!is_significant    ? "no significant difference"
                               : ratio->value < 1 ? "faster"
                                                  : "slower"));
}

void add_columns(TableBuilder* table, size_t evaluations) {
  table->column("batch", "count", "Inputs per inference.");
  for (size_t e = 0; e < evaluations; ++e) {
    const std::string of = " of " + letter_of(e);
    table->column(named("iterations", e), "count", "Inferences" + of + ".");
    table->column(named("blocks", e), "count",
                  "Blocks that they were measured in: turns of one process, or processes.");
    table->column(named("latency", e), "ns",
                  "Mean latency of the typical inferences" + of +
                      "; the program's step where the call returns before the device is done.");
    table->column(named("low", e), "ns", "Lower end of its 95 % interval.");
    table->column(named("high", e), "ns", "Upper end of its 95 % interval.");
    table->column(named("median", e), "ns", "Median of that" + of + ".");
    table->column(named("p99", e), "ns", "99th percentile of that" + of + ".");
    table->column(named("throughput", e), "per_s", "Inputs per second" + of + ".");
  }
  table->column("state_a", "text", "Of A: measured, failed, interrupted or not tried.");
  for (size_t e = 1; e < evaluations; ++e) {
    const std::string letter = letter_of(e);
    table->column(named("state", e), "text",
                  "Of " + letter + ": measured, failed, interrupted or not tried.");
    table->column(named("ratio", e), "ratio", "Latency of " + letter + " / latency of A.");
    table->column(named("ratio_low", e), "ratio", "Lower end of its 95 % interval.");
    table->column(named("ratio_high", e), "ratio", "Upper end of its 95 % interval.");
    table->column(named("significant", e), "bool", "The interval leaves 1 out; empty: not known.");
    table->column(named("verdict", e), "text",
                  letter + " is faster or slower than A, or why that is not known.");
  }
}

void add_numbers(const Measured* one, std::vector<Value>* cells) {
  if (one == nullptr) {
    cells->insert(cells->end(), 8, std::monostate{});
    return;
  }
  const Estimate& latency = one->latency_ns;
  cells->push_back(static_cast<int64_t>(latency.count));
  cells->push_back(one->has_blocks ? Value(static_cast<int64_t>(latency.residuals.size()))
                                   : Value());
  cells->push_back(latency.mean);
  cells->push_back(latency.interval ? Value(latency.interval->low) : Value());
  cells->push_back(latency.interval ? Value(latency.interval->high) : Value());
  cells->push_back(cell(one->median_ns));
  cells->push_back(cell(one->p99_ns));
  const bool has_throughput = one->inputs && latency.mean > 0;
  cells->push_back(has_throughput ? Value(*one->inputs * 1e9 / latency.mean) : Value());
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

// Returns a note if the ratio is not known as well as its experiment wanted, else an empty text.
std::string ratio_not_settled(const Model& first, const Measured& a, const Measured& b) {
  const auto ratio = statistics::paired_ratio(a.latency_ns, b.latency_ns);
  if (!ratio || !ratio->interval || !first.width_pct) return "";
  const double width = std::log(ratio->interval->high / ratio->interval->low) / 2;
  if (100 * width <= *first.width_pct) return "";
  return "not settled: the ratio to A is known to within ±" + percent(width) + ", " +
         percent(*first.width_pct / 100) + " was wanted";
}

// Adds the reasons why the numbers of one batch size are doubtful.
void add_doubts(const std::vector<Model>& models, int64_t batch, std::vector<std::string>* notes) {
  const Measured* a = side_of(models[0], batch).measured;
  const auto add = [&](size_t evaluation, const std::string& text) {
    const std::string note =
        letter_of(evaluation) + ", batch " + std::to_string(batch) + ": " + text;
    if (std::find(notes->begin(), notes->end(), note) == notes->end()) notes->push_back(note);
  };
  for (size_t e = 1; e < models.size(); ++e) {
    const Measured* b = side_of(models[e], batch).measured;
    const bool paired = a != nullptr && b != nullptr && is_paired(models[0], models[e]);
    for (const auto& [index, side] : {std::pair(size_t{0}, a), std::pair(e, b)}) {
      if (side == nullptr) continue;
      for (const Doubt& doubt : side->doubts) {
        // A pair is measured for its ratio, so its own intervals do not matter. Warnings list
        // disturbances.
        const bool is_told = doubt.kind == "disturbed" || (paired && doubt.kind == "unsettled");
        if (!is_told) add(index, doubt.text);
      }
    }
    const std::string wide = paired ? ratio_not_settled(models[0], *a, *b) : "";
    if (!wide.empty()) add(e, wide);
  }
}

std::string allowance_note(const std::vector<Model>& models, const std::set<size_t>& allowed) {
  std::string who, by;
  for (const size_t e : allowed) {
    const char* const comma = who.empty() ? "" : e == *allowed.rbegin() ? " and " : ", ";
    who += comma + letter_of(e);
    by += comma + percent(models[e].spread) + " of " + letter_of(e);
  }
  return who + (allowed.size() == 1 ? " was" : " were") +
         " recorded separately, by one process each: how much one process differs from the next "
         "cannot be seen in that, so the interval of the ratio allows for a standard deviation "
         "of " +
         by + ": xsp diff --run measures it instead";
}

}  // namespace

Result<Comparison> compare_model(Databases evaluations, const CompareOptions& options) {
  std::vector<Model> models;
  std::set<int64_t> batches;
  bool is_any = false;
  for (Database* database : evaluations) {
    XSP_TRY(Model model, measured(*database));
    const auto add = [&](int64_t batch) {
      if (options.batch && *options.batch != batch) return false;
      batches.insert(batch);
      return true;
    };
    for (const auto& [batch, one] : model.by_batch) is_any = add(batch) || is_any;
    for (const auto& [batch, one] : model.others) add(batch);
    models.push_back(std::move(model));
  }
  if (!is_any) {
    const std::string at = options.batch ? " at batch " + std::to_string(*options.batch) : "";
    return not_available("not measured: level model" + at +
                         ": no evaluation has it: profile with --levels model");
  }
  TableBuilder table;
  add_columns(&table, evaluations.size());
  std::set<size_t> allowed;
  for (const int64_t batch : batches) {
    std::vector<Value> cells = {batch};
    for (const Model& model : models) add_numbers(side_of(model, batch).measured, &cells);
    cells.push_back(side_of(models[0], batch).state);
    for (size_t e = 1; e < models.size(); ++e) {
      add_verdict(models[0], models[e], batch, e, &allowed, &cells);
    }
    table.row(std::move(cells));
  }
  Comparison comparison = std::move(table).finish();
  comparison.batch = options.batch;
  for (const int64_t batch : batches) add_doubts(models, batch, &comparison.warnings);
  if (!allowed.empty()) comparison.warnings.push_back(allowance_note(models, allowed));
  return comparison;
}

}  // namespace xsp::compare

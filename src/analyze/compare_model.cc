// The table `model`: a row for each batch size.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "analyze/compare_tables.h"
#include "analyze/run.h"
#include "statistics/typical.h"

namespace xsp::analyze {
namespace {

using statistics::Estimate;
using store::Database;
using store::Table;
using store::Value;

// The inferences of each model-only run in their order, and the block that each belongs to.
const char* const kInferencesSql = R"(
  WITH inference AS (
    SELECT r.batch, r.run_id, s.iteration, s.process, s.duration_ns
    FROM measured_run r JOIN span s USING (run_id)
    WHERE r.level = 2 AND s.level = 2 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open)
  SELECT CAST(i.batch AS BIGINT), CAST(b.block AS BIGINT), CAST(i.duration_ns AS DOUBLE),
    CAST(i.process AS BIGINT)
  FROM inference i
    ASOF LEFT JOIN block b ON i.run_id = b.run_id AND i.iteration >= b.first_iteration
  ORDER BY i.batch, i.run_id, i.iteration)";

const char* const kSummarySql = R"(
  SELECT CAST(r.batch AS BIGINT), quantile_cont(s.duration_ns, 0.5),
    quantile_cont(s.duration_ns, 0.99), CAST(inputs_of(r.batch) AS DOUBLE),
    any_value(run.stopped_by)
  FROM measured_run r JOIN span s USING (run_id) JOIN run USING (run_id)
  WHERE r.level = 2 AND s.level = 2 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open
  GROUP BY r.batch, r.run_id)";

// The model-only runs without numbers.
const char* const kOthersSql = R"(
  SELECT CAST(batch AS BIGINT), status, reason FROM run
  WHERE deepest_level(levels) = 2 AND NOT has_counters(counters)
    AND run_id NOT IN (SELECT run_id FROM measured_run) ORDER BY run_id)";

// One evaluation at one batch size.
struct Measured {
  std::vector<double> values_ns;
  std::vector<statistics::Block> blocks;  // of the file; none: it has none
  bool blocks_are_processes = false;
  Estimate latency_ns;
  std::optional<double> median_ns, p99_ns, inputs;
  std::string stopped_by;
};
struct Unmeasured {
  std::string state;
  std::string reason;
};
// By batch size.
struct Model {
  std::map<int64_t, Measured> by_batch;
  std::map<int64_t, Unmeasured> others;
  std::optional<Unmeasured> at_own_batch;  // of a model that failed before its size was known
  std::string why;                         // it was not measured at all
  std::string experiment;                  // that other files are part of, too; empty: none
  std::optional<double> width;             // how well the ratio was to be known
};

Status read_inferences(Database& database, Model* model) {
  XSP_TRY(const Table table, database.query(kInferencesSql));
  std::map<int64_t, std::map<int64_t, std::set<int64_t>>> processes;  // by batch and block
  for (const auto& row : table.rows) {
    const int64_t batch = std::get<int64_t>(row[0]);
    Measured& one = model->by_batch[batch];
    one.values_ns.push_back(number_of(row[2]).value_or(0));
    const auto* block = std::get_if<int64_t>(&row[1]);
    if (block == nullptr) continue;
    const int round = static_cast<int>(*block);
    if (one.blocks.empty() || one.blocks.back().round != round) one.blocks.push_back({round, 0});
    ++one.blocks.back().count;
    if (const auto* process = std::get_if<int64_t>(&row[3])) {
      processes[batch][*block].insert(*process);
    }
  }
  for (auto& [batch, one] : model->by_batch) {
    std::set<int64_t> all;
    bool is_one_each = one.blocks.size() > 1;
    for (const auto& [block, of_block] : processes[batch]) {
      is_one_each = is_one_each && of_block.size() == 1;
      all.insert(of_block.begin(), of_block.end());
    }
    one.blocks_are_processes = is_one_each && all.size() == one.blocks.size();
    one.latency_ns = statistics::estimate(one.values_ns, one.blocks);
  }
  return Ok{};
}

Status read_others(Database& database, Model* model) {
  XSP_TRY(const Table table, database.query(kOthersSql));
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
  XSP_CHECK_OK(read_inferences(database, &model));
  XSP_CHECK_OK(read_others(database, &model));
  XSP_TRY(const Table summary, database.query(kSummarySql));
  for (const auto& row : summary.rows) {
    Measured& one = model.by_batch[std::get<int64_t>(row[0])];
    one.median_ns = number_of(row[1]);
    one.p99_ns = number_of(row[2]);
    one.inputs = number_of(row[3]);
    one.stopped_by = text_of(row[4]);
  }
  XSP_TRY(const Table why, database.query("SELECT why_no_level('model')"));
  model.why = text_of(why.rows.at(0).at(0));
  XSP_TRY(const Table experiment,
          database.query("SELECT any_value(value) FILTER (key = 'experiment.id'), "
                         "try_cast(any_value(value) FILTER (key = 'experiment.width') AS DOUBLE) "
                         "FROM evaluation"));
  model.experiment = text_of(experiment.rows.at(0).at(0));
  model.width = number_of(experiment.rows[0][1]);
  return model;
}

// What is known of an evaluation at a batch size.
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
  return letter_of(evaluation) + " has " + std::to_string(one.values_ns.size()) +
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

// Cells state, ratio, low, high, significant, verdict. `allows`: set if the interval allows for the
// spread between processes.
void add_verdict(const Model& first, const Model& second, int64_t batch, size_t evaluation,
                 bool* allows, std::vector<Value>* cells) {
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
  const bool has_spread = a.measured->blocks_are_processes && b.measured->blocks_are_processes;
  const auto ratio = of_one_experiment
                         ? statistics::paired_ratio(of_a, of_b)
                         : statistics::unpaired_ratio(of_a, of_b, has_spread ? 0 : kProcessSpread);
  if (!ratio) return none("no ratio: a latency is zero");
  if (!ratio->interval) {
    cells->push_back(ratio->value);
    cells->insert(cells->end(), 3, std::monostate{});
    cells->push_back(too_few_blocks(*a.measured, *b.measured, evaluation));
    return;
  }
  *allows = *allows || (!of_one_experiment && !has_spread);
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
    table->column(named("latency", e), "ns", "Mean latency of the typical inferences" + of + ".");
    table->column(named("low", e), "ns", "Lower end of its 95 % interval.");
    table->column(named("high", e), "ns", "Upper end of its 95 % interval.");
    table->column(named("median", e), "ns", "Median of the latency" + of + ".");
    table->column(named("p99", e), "ns", "99th percentile of the latency" + of + ".");
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
  const bool has_blocks = !one->blocks.empty();
  cells->push_back(static_cast<int64_t>(latency.count));
  cells->push_back(has_blocks ? Value(static_cast<int64_t>(one->blocks.size())) : Value());
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

std::string at_batch(size_t evaluation, int64_t batch) {
  return letter_of(evaluation) + ", batch " + std::to_string(batch) + ": ";
}

// A latency that is not known as well as it was asked for.
std::string not_settled(const Measured& one, size_t evaluation, int64_t batch) {
  if (one.stopped_by != "time" && one.stopped_by != "iterations" && one.stopped_by != "interrupt") {
    return "";
  }
  const auto width = one.latency_ns.relative_half_width();
  return at_batch(evaluation, batch) + "not settled: stopped by " + one.stopped_by +
         (width ? " at +-" + percent(*width) : ", without an interval");
}

// The same of a ratio that an experiment was made for.
std::string ratio_not_settled(const Model& first, const Measured& a, const Measured& b,
                              size_t evaluation, int64_t batch) {
  const auto ratio = statistics::paired_ratio(a.latency_ns, b.latency_ns);
  if (!ratio || !ratio->interval || !first.width) return "";
  const double width = std::log(ratio->interval->high / ratio->interval->low) / 2;
  if (width <= *first.width) return "";
  return at_batch(evaluation, batch) + "not settled: the ratio to A is known to within +-" +
         percent(width) + ", and +-" + percent(*first.width) + " was wanted";
}

// What must be known of the numbers of one batch size.
void add_notes(const std::vector<Model>& models, int64_t batch, std::vector<std::string>* notes) {
  const Measured* a = side_of(models[0], batch).measured;
  bool is_a_told = false;
  for (size_t e = 1; e < models.size(); ++e) {
    const Measured* b = side_of(models[e], batch).measured;
    std::string of_a, of_b;
    if (a != nullptr && b != nullptr && is_paired(models[0], models[e])) {
      of_b = ratio_not_settled(models[0], *a, *b, e, batch);
    } else {
      of_a = a == nullptr || is_a_told ? "" : not_settled(*a, 0, batch);
      of_b = b == nullptr ? "" : not_settled(*b, e, batch);
      is_a_told = true;
    }
    for (std::string* text : {&of_a, &of_b}) {
      if (!text->empty()) notes->push_back(std::move(*text));
    }
  }
}

// `letters`: of the evaluations whose ratio to A has an interval that allows for the spread between
// processes.
std::string allowance_note(const std::vector<std::string>& letters) {
  std::string who = "A";
  for (size_t i = 0; i < letters.size(); ++i) {
    who += (i + 1 < letters.size() ? ", " : " and ") + letters[i];
  }
  return who +
         " were recorded separately, by one process each: how much one process differs from the "
         "next cannot be seen in that, so the interval of the ratio allows for " +
         percent(kProcessSpread) + " in each: xsp diff --run measures it instead";
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
  std::vector<bool> allows(models.size(), false);
  for (const int64_t batch : batches) {
    std::vector<Value> cells = {batch};
    for (const Model& model : models) add_numbers(side_of(model, batch).measured, &cells);
    cells.push_back(side_of(models[0], batch).state);
    for (size_t e = 1; e < models.size(); ++e) {
      bool is_allowed = false;
      add_verdict(models[0], models[e], batch, e, &is_allowed, &cells);
      allows[e] = allows[e] || is_allowed;
    }
    table.row(std::move(cells));
  }
  std::vector<std::string> allowing;
  for (size_t e = 1; e < models.size(); ++e) {
    if (allows[e]) allowing.push_back(letter_of(e));
  }
  Comparison comparison = std::move(table).finish();
  comparison.batch = options.batch;
  for (const int64_t batch : batches) add_notes(models, batch, &comparison.warnings);
  if (!allowing.empty()) comparison.warnings.push_back(allowance_note(allowing));
  return comparison;
}

}  // namespace xsp::analyze

// The table `model`: a row for each batch size.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "desk/compare/sides.h"
#include "desk/compare/tables.h"

namespace xsp::compare {
namespace {

using statistics::Estimate;
using store::Database;
using store::Value;

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
  if (one.step && one.step->processes > 1) {
    return letter_of(evaluation) + " has steps of " + std::to_string(one.step->processes) +
           " processes";
  }
  if (one.step) {
    return letter_of(evaluation) + " has " + std::to_string(one.latency_ns.count) + " steps";
  }
  const std::string unit = one.blocks_are_processes ? "process" : "block";
  const std::string ending = blocks == 1 ? "" : one.blocks_are_processes ? "es" : "s";
  return letter_of(evaluation) + " has " + std::to_string(one.latency_ns.count) +
         " inferences in " + std::to_string(blocks) + " " + unit + ending;
}

std::string too_few_blocks(const Measured& a, const Measured& b, size_t evaluation) {
  const bool is_a = !a.latency_ns.interval;
  std::string who = is_a ? blocks_text(a, 0) : blocks_text(b, evaluation);
  if (is_a && !b.latency_ns.interval) who += ", " + blocks_text(b, evaluation);
  if ((is_a ? a : b).step) return "no interval: " + who + ": it needs 6 steps of one process";
  return "too few blocks: " + who + ": an interval needs " + std::to_string(statistics::kBlocksMin);
}

constexpr double kDisturbedMost = 2;  // the factor by which other programs may slow a model

// Returns "A was disturbed" and the like; empty: neither was, as far as known.
std::string disturbed_text(const Measured& a, const Measured& b, size_t evaluation) {
  const auto is_disturbed = [](const Measured& one) {
    return std::any_of(one.doubts.begin(), one.doubts.end(),
                       [](const Doubt& doubt) { return doubt.kind == "disturbed"; });
  };
  const std::string of_b = letter_of(evaluation);
  if (is_disturbed(a) && is_disturbed(b)) return "A and " + of_b + " were disturbed";
  if (is_disturbed(a)) return "A was disturbed";
  return is_disturbed(b) ? of_b + " was disturbed" : "";
}

// The standard deviations between processes, relative to the latency, for which a ratio allows.
struct Spread {
  double always = 0;  // of any model
  double host = 0;    // because the device waits for the host
  double both() const { return std::hypot(always, host); }
};

// A share that one side did not measure is taken to be that of the other: it is in general the same
// model. If neither did, the host may do all.
Spread spread_of(const Model& model, const Measured& one, const Measured& other) {
  if (one.blocks_are_processes) return {};
  if (!one.on_device) return {model.spread, 0};
  return {model.spread, host_spread(one.host_share.value_or(other.host_share.value_or(1)))};
}

std::optional<statistics::Ratio> separate_ratio(const Estimate& a, const Estimate& b,
                                                double spread_a, double spread_b) {
  return statistics::unpaired_ratio(a, b, std::hypot(spread_a, spread_b) / std::sqrt(2.0));
}

bool is_certain(const statistics::Ratio& ratio) {
  return ratio.interval->low > 1 || ratio.interval->high < 1;
}

// By evaluation: the least and the greatest spread between processes for which a ratio allows.
using Allowed = std::map<size_t, std::pair<double, double>>;

void allow(size_t evaluation, double spread, Allowed* allowed) {
  if (spread == 0) return;
  auto& range = allowed->emplace(evaluation, std::pair(spread, spread)).first->second;
  range = {std::min(range.first, spread), std::max(range.second, spread)};
}

bool is_paired(const Model& first, const Model& second) {
  return !first.experiment.empty() && first.experiment == second.experiment;
}

// Returns why a difference that the blocks alone would make certain is none between processes.
std::string host_doubt(const Measured& a, const Measured& b) {
  const bool is_known = a.host_share || b.host_share;
  return std::string(kDoubt) + kOneProcess +
         (is_known ? "the GPU waits for the host, whose speed differs from process to process"
                   : "no kernels were recorded, so the GPU may have waited for the host");
}

// Adds the cells state, ratio, low, high, significant, verdict. Adds to `allowed` the evaluations
// whose interval allows for the spread between processes.
void add_verdict(const Model& first, const Model& second, int64_t batch, size_t evaluation,
                 Allowed* allowed, std::vector<Value>* cells) {
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
  const Spread spread_a = spread_of(first, *a.measured, *b.measured);
  const Spread spread_b = spread_of(second, *b.measured, *a.measured);
  const auto ratio = of_one_experiment
                         ? statistics::paired_ratio(of_a, of_b)
                         : separate_ratio(of_a, of_b, spread_a.both(), spread_b.both());
  if (!ratio) return none("no ratio: a latency is zero");
  if (!ratio->interval) {
    cells->push_back(ratio->value);
    cells->insert(cells->end(), 3, std::monostate{});
    cells->push_back(too_few_blocks(*a.measured, *b.measured, evaluation));
    return;
  }
  cells->insert(cells->end(), {ratio->value, ratio->interval->low, ratio->interval->high});
  const std::string direction = ratio->value < 1 ? "faster" : "slower";
  if (!of_one_experiment) {
    allow(0, spread_a.both(), allowed);
    allow(evaluation, spread_b.both(), allowed);
  }
  if (!is_certain(*ratio)) {
    const bool is_by_host =
        !of_one_experiment &&
        is_certain(*separate_ratio(of_a, of_b, spread_a.always, spread_b.always));
    cells->push_back(is_by_host ? Value() : Value(false));
    cells->push_back(is_by_host ? direction + host_doubt(*a.measured, *b.measured)
                                : std::string("no significant difference"));
    return;
  }
  // Another program on the same core takes up to half of it, so it may alone make two recordings
  // differ by a factor of two. It slows both models of a pair alike.
  const bool is_more =
      ratio->interval->low > kDisturbedMost || ratio->interval->high < 1 / kDisturbedMost;
  const std::string disturbed =
      of_one_experiment || is_more ? "" : disturbed_text(*a.measured, *b.measured, evaluation);
  if (!disturbed.empty()) {
    cells->insert(cells->end(), {std::monostate{}, direction + kDoubt + disturbed});
    return;
  }
  cells->insert(cells->end(), {true, direction});
}

void add_model_columns(TableBuilder* table, size_t evaluations) {
  table->column("batch", "count", "Inputs per inference; empty: they differ, or are not known.");
  for (size_t e = 0; e < evaluations; ++e) {
    const std::string of = " of " + letter_of(e);
    table->column(named("unit", e), "text",
                  "What is compared" + of + ": a step of the program, or an inference.");
    table->column(named("iterations", e), "count", "Inferences" + of + ", or steps.");
    table->column(named("blocks", e), "count",
                  "Blocks that they were measured in: turns of one process, or processes.");
    table->column(named("latency", e), "ns",
                  "Mean latency of the typical inferences" + of +
                      "; the step of a program that repeats steps, as time_of_step tells it.");
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
    table->column(named("significant", e), "bool",
                  "The interval leaves 1 out; empty: not known, or in doubt.");
    table->column(named("verdict", e), "text",
                  letter + " is faster or slower than A, or why that is not known.");
  }
}

void add_numbers(const Measured* one, std::vector<Value>* cells) {
  if (one == nullptr) {
    cells->insert(cells->end(), 9, std::monostate{});
    return;
  }
  const Estimate& latency = one->latency_ns;
  cells->push_back(std::string(one->step ? "step" : "inference"));
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
    const std::string at =
        models[evaluation].is_batch_known ? ", batch " + std::to_string(batch) : "";
    const std::string note = letter_of(evaluation) + at + ": " + text;
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

std::string allowance_note(const Allowed& allowed) {
  std::string who, by;
  for (const auto& [e, range] : allowed) {
    const char* const comma = who.empty() ? "" : e == allowed.rbegin()->first ? " and " : ", ";
    const std::string least = percent(range.first), most = percent(range.second);
    who += comma + letter_of(e);
    by += comma + (least == most ? most : least + " to " + most) + " of " + letter_of(e);
  }
  return who + (allowed.size() == 1 ? " was" : " were") +
         " recorded separately, by one process each: how much one process differs from the next "
         "cannot be seen in that, so the interval of the ratio allows for a standard deviation "
         "of " +
         by + ": xsp diff --run measures it instead";
}

// Reads the host's shares of the batch sizes that the reference and another evaluation have, unless
// they are of one experiment, whose processes show the spread.
Status read_host_shares(Databases evaluations, const std::set<int64_t>& batches,
                        std::vector<Model>* models) {
  for (const int64_t batch : batches) {
    bool is_needed = false;
    for (size_t e = 1; e < models->size(); ++e) {
      const bool is_separate = side_of((*models)[0], batch).measured != nullptr &&
                               side_of((*models)[e], batch).measured != nullptr &&
                               !is_paired((*models)[0], (*models)[e]);
      is_needed = is_needed || is_separate;
      if (!is_separate) continue;
      XSP_CHECK_OK(read_host_share(*evaluations[e], batch, &(*models)[e]));
    }
    if (!is_needed) continue;
    XSP_CHECK_OK(read_host_share(*evaluations[0], batch, &(*models)[0]));
  }
  return Ok{};
}

}  // namespace

Result<Comparison> compare_model(Databases evaluations, const CompareOptions& options) {
  std::vector<Model> models;
  std::set<int64_t> batches, tried;
  bool is_any = false;
  for (Database* database : evaluations) {
    XSP_TRY(Model model, read_model(*database));
    for (const auto& [batch, one] : model.by_batch) tried.insert(batch);
    for (const auto& [batch, one] : model.steps) tried.insert(batch);
    models.push_back(std::move(model));
  }
  std::vector<std::string> notes;
  for (const int64_t batch : tried) {
    if (!options.batch || *options.batch == batch) choose_unit(batch, &models, &notes);
  }
  for (const Model& model : models) {
    const auto add = [&](int64_t batch) {
      if (options.batch && *options.batch != batch) return false;
      batches.insert(batch);
      return true;
    };
    for (const auto& [batch, one] : model.by_batch) is_any = add(batch) || is_any;
    for (const auto& [batch, one] : model.others) add(batch);
  }
  XSP_CHECK_OK(read_host_shares(evaluations, batches, &models));
  if (!is_any) {
    const std::string batch = options.batch ? std::to_string(*options.batch) : "";
    return not_available("not measured: level model" + (batch.empty() ? "" : " at batch " + batch) +
                         ": no evaluation has it: profile with " +
                         (batch.empty() || tried.empty() ? "--levels model" : "--batch " + batch));
  }
  TableBuilder table;
  add_model_columns(&table, evaluations.size());
  Allowed allowed;
  bool has_calls = false;
  for (const int64_t batch : batches) {
    bool is_known = true;
    for (const Model& model : models) {
      const Measured* one = side_of(model, batch).measured;
      is_known = is_known && (one == nullptr || model.is_batch_known);
      has_calls = has_calls || (one != nullptr && !one->step);
    }
    std::vector<Value> cells = {is_known ? Value(batch) : Value()};
    for (const Model& model : models) add_numbers(side_of(model, batch).measured, &cells);
    cells.push_back(side_of(models[0], batch).state);
    for (size_t e = 1; e < models.size(); ++e) {
      add_verdict(models[0], models[e], batch, e, &allowed, &cells);
    }
    table.row(std::move(cells));
  }
  Comparison comparison = std::move(table).finish();
  comparison.batch = options.batch;
  comparison.warnings = std::move(notes);
  for (const int64_t batch : batches) add_doubts(models, batch, &comparison.warnings);
  if (has_calls) {
    XSP_TRY(comparison.unknown_batches, unknown_batches_of(evaluations));
  }
  if (!comparison.unknown_batches.empty()) {
    comparison.warnings.push_back("the inputs are not of one size: " + comparison.unknown_batches +
                                  ": the inferences do not do the same work");
  }
  if (!allowed.empty()) comparison.warnings.push_back(allowance_note(allowed));
  return comparison;
}

}  // namespace xsp::compare

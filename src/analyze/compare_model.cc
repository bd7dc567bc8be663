// The table `model`: a row for each batch size.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyze/compare_statistics.h"
#include "analyze/compare_tables.h"
#include "analyze/run.h"

namespace xsp::analyze {
namespace {

using store::Database;
using store::Table;
using store::Value;

// A run of fewer blocks than it takes is cut into so many consecutive parts of at least so many
// inferences.
constexpr int kPartsMax = 20;
constexpr int kPartInferencesMin = 5;

// The medians of the blocks of each model-only run, in their order.
const char* const kBlocksSql = R"(
  WITH inference AS (
    SELECT r.batch, r.run_id, s.iteration, s.duration_ns,
      row_number() OVER (PARTITION BY r.run_id ORDER BY s.iteration) - 1 AS place,
      count(*) OVER (PARTITION BY r.run_id) AS inferences
    FROM measured_run r JOIN span s USING (run_id)
    WHERE r.level = 2 AND s.level = 2 AND s.depth = 0 AND s.iteration >= 0 AND NOT s.is_open),
  placed AS (
    SELECT i.*, b.block FROM inference i
      ASOF LEFT JOIN block b ON i.run_id = b.run_id AND i.iteration >= b.first_iteration),
  counted AS (SELECT run_id, count(DISTINCT block) AS blocks FROM placed GROUP BY run_id),
  part AS (
    SELECT batch, duration_ns, blocks, inferences,
      CASE WHEN blocks >= $least THEN block
           ELSE place * least($parts, greatest(1, inferences // $part_inferences)) // inferences END
        AS part
    FROM placed JOIN counted USING (run_id))
  SELECT CAST(batch AS BIGINT), CAST(any_value(blocks) AS BIGINT),
    CAST(any_value(inferences) AS BIGINT), CAST(median(duration_ns) AS DOUBLE)
  FROM part GROUP BY batch, part ORDER BY batch, part)";

// One evaluation at one batch size.
struct Measured {
  int64_t inferences = 0;
  int64_t blocks = 0;
  std::vector<double> medians;          // of the blocks, or of the parts
  std::map<std::string, Value> values;  // of the analysis model_information, by column
};
// By batch size. `why`: not measured at all.
struct Model {
  std::map<int64_t, Measured> by_batch;
  std::string why;
};

Result<Model> measured(Database& database) {
  Model model;
  XSP_TRY(const Analysis* analysis, find("model_information"));
  Result<Table> numbers = run(database, *analysis);
  if (!numbers.ok()) {
    if (numbers.error().code != Code::kNotAvailable) return numbers.error();
    model.why = numbers.error().text;
    return model;
  }
  for (const auto& row : numbers->rows) {
    Measured one;
    for (size_t i = 0; i < row.size(); ++i) one.values[numbers->columns[i].name] = row[i];
    const auto batch = number_of(one.values["batch"]);
    if (batch) model.by_batch[static_cast<int64_t>(*batch)] = std::move(one);
  }
  XSP_TRY(const Table blocks,
          database.query(kBlocksSql, {{"least", static_cast<int64_t>(kBlocksMin)},
                                      {"parts", int64_t{kPartsMax}},
                                      {"part_inferences", int64_t{kPartInferencesMin}}}));
  for (const auto& row : blocks.rows) {
    Measured& one = model.by_batch[std::get<int64_t>(row[0])];
    one.blocks = std::get<int64_t>(row[1]);
    one.inferences = std::get<int64_t>(row[2]);
    one.medians.push_back(number_of(row[3]).value_or(0));
  }
  return model;
}

std::string too_few(const Measured& one, size_t evaluation) {
  return letter_of(evaluation) + " has " + std::to_string(one.inferences) + " inferences in " +
         std::to_string(std::max<int64_t>(one.blocks, 1)) + (one.blocks > 1 ? " blocks" : " block");
}

// ratio, low, high, significant, verdict
void add_verdict(const Measured* first, const Measured* second, size_t evaluation,
                 const std::string& why, std::vector<Value>* cells) {
  const auto none = [&](const std::string& verdict) {
    cells->insert(cells->end(), 4, std::monostate{});
    cells->push_back(verdict);
  };
  if (first == nullptr) return none("not measured: A: not at this batch size");
  if (second == nullptr) {
    return none(why.empty() ? "not measured: not at this batch size" : why);
  }
  const auto ratio = ratio_of(first->medians, second->medians);
  if (!ratio) {
    const bool is_first = first->medians.size() < kBlocksMin;
    const bool is_second = second->medians.size() < kBlocksMin;
    if (!is_first && !is_second) return none("no ratio: a latency is zero");
    std::string who = is_first ? too_few(*first, 0) : too_few(*second, evaluation);
    if (is_first && is_second) who += ", " + too_few(*second, evaluation);
    return none("too few: " + who + ": it takes " + std::to_string(kBlocksMin) + " blocks, or " +
                std::to_string(kBlocksMin * kPartInferencesMin) + " inferences");
  }
  cells->insert(cells->end(), {ratio->estimate, ratio->low, ratio->high, ratio->is_significant()});
  cells->push_back(std::string(!ratio->is_significant() ? "no significant difference"
                               : ratio->estimate < 1    ? "faster"
                                                        : "slower"));
}

void add_columns(TableBuilder* table, size_t evaluations) {
  table->column("batch", "count", "Inputs per inference.");
  for (size_t e = 0; e < evaluations; ++e) {
    const std::string of = " of " + letter_of(e);
    table->column(named("iterations", e), "count", "Inferences" + of + ".");
    table->column(named("blocks", e), "count", "Blocks that they were measured in.");
    table->column(named("latency", e), "ns", "Trimmed mean of the latency" + of + ".");
    table->column(named("median", e), "ns", "Median of the latency" + of + ".");
    table->column(named("low", e), "ns", "Lower end of the 95 % interval of the median.");
    table->column(named("high", e), "ns", "Upper end of the 95 % interval of the median.");
    table->column(named("p99", e), "ns", "99th percentile of the latency" + of + ".");
    table->column(named("throughput", e), "per_s", "Inputs per second" + of + ".");
  }
  for (size_t e = 1; e < evaluations; ++e) {
    const std::string letter = letter_of(e);
    table->column(named("ratio", e), "ratio",
                  "Latency of " + letter + " / that of A: median over all pairs of blocks.");
    table->column(named("ratio_low", e), "ratio", "Lower end of its 95 % interval.");
    table->column(named("ratio_high", e), "ratio", "Upper end of its 95 % interval.");
    table->column(named("significant", e), "bool", "The interval leaves 1 out; empty: not known.");
    table->column(named("verdict", e), "text",
                  letter + " is faster or slower than A, or why that is not known.");
  }
}

}  // namespace

Result<Comparison> compare_model(Databases evaluations, const CompareOptions& options) {
  std::vector<Model> models;
  std::set<int64_t> batches;
  for (Database* database : evaluations) {
    XSP_TRY(Model model, measured(*database));
    for (const auto& [batch, one] : model.by_batch) {
      if (!options.batch || *options.batch == batch) batches.insert(batch);
    }
    models.push_back(std::move(model));
  }
  if (batches.empty()) {
    const std::string at = options.batch ? " at batch " + std::to_string(*options.batch) : "";
    return not_available("not measured: level model" + at +
                         ": no evaluation has it: profile with --levels model");
  }
  TableBuilder table;
  add_columns(&table, evaluations.size());
  for (const int64_t batch : batches) {
    std::vector<Value> cells = {batch};
    std::vector<const Measured*> row;
    for (const Model& model : models) {
      const auto found = model.by_batch.find(batch);
      row.push_back(found == model.by_batch.end() ? nullptr : &found->second);
      const auto value = [&](const char* column) {
        return row.back() == nullptr ? Value(std::monostate{}) : row.back()->values.at(column);
      };
      cells.push_back(value("iterations"));
      cells.push_back(row.back() == nullptr ? Value(std::monostate{}) : Value(row.back()->blocks));
      for (const char* column :
           {"latency_ns", "median_ns", "low_ns", "high_ns", "p99_ns", "throughput_per_s"}) {
        cells.push_back(value(column));
      }
    }
    for (size_t e = 1; e < row.size(); ++e) {
      add_verdict(row[0], row[e], e, models[e].why, &cells);
    }
    table.row(std::move(cells));
  }
  Comparison comparison = std::move(table).finish();
  comparison.batch = options.batch;
  return comparison;
}

}  // namespace xsp::analyze

// Shared parts of a comparison's tables. For src/desk/analyze alone.
#ifndef XSP_DESK_COMPARE_TABLES_H_
#define XSP_DESK_COMPARE_TABLES_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desk/compare/align.h"
#include "desk/compare/compare.h"

namespace xsp::compare {

using Databases = std::span<store::Database* const>;

// The states of an evaluation at a batch size, in the columns state_a, state_b, ...
inline constexpr const char* kMeasured = "measured";
inline constexpr const char* kFailed = "failed";
inline constexpr const char* kInterrupted = "interrupted";
inline constexpr const char* kNotTried = "not tried";

// Stands in a verdict before what makes it doubtful, as in "slower, but B was disturbed".
inline constexpr const char* kDoubt = ", but ";
// Begins the doubt of a difference that only more processes can show.
inline constexpr const char* kOneProcess = "one process each cannot show it: ";

// The key for sorting rows: the greatest difference to the reference, then the greatest latency.
using Rank = std::pair<double, double>;

// Adds columns, and rows with a cell for each column.
class TableBuilder {
 public:
  // Adds a column. `name` is without the unit, which is appended: "latency_a" with unit "ns"
  // becomes latency_a_ns.
  void column(const std::string& name, const std::string& unit, const std::string& description);
  void row(std::vector<store::Value> cells) { rows_.push_back(std::move(cells)); }
  // Returns the table, with the rows in their order, or sorted by `ranks`, greatest first.
  Comparison finish(const std::vector<Rank>& ranks = {}) &&;

 private:
  Comparison comparison_;
  std::vector<std::vector<store::Value>> rows_;
};

// Returns "latency_b" for "latency" of the second evaluation.
std::string named(const std::string& what, size_t evaluation);

// Conversions of cells.
std::optional<double> number_of(const store::Value& value);
std::string text_of(const store::Value& value);
store::Value cell(const std::optional<double>& number);
std::string json_of(const std::vector<std::string>& texts);  // returns an array

// The batch size for a level, the evaluations that have the level there, and why the others do not.
struct Choice {
  int64_t batch = 1;
  std::optional<int64_t> named;  // the same, if each evaluation knows its batch sizes
  std::vector<bool> has;         // by evaluation
  std::vector<std::string> warnings;
};
// Returns the wanted batch, or the smallest that is common to all evaluations which measured the
// level. Fails if the reference, or every other evaluation, did not.
Result<Choice> choose_batch(Databases evaluations, const std::string& level,
                            const std::optional<int64_t>& batch);
// Adds a warning for each evaluation in which recording distorted the times of that level.
Status warn_of_distortion(Databases evaluations, const std::string& level, Choice* choice);

// One layer of one evaluation.
struct LayerCost {
  AlignedLayer layer;
  std::string label;                 // name in the model's own file
  std::optional<double> latency_ns;  // in one inference, without nested layers
  std::optional<double> flops;       // computed from its shapes
  std::optional<double> bytes;
};
// Returns the layers in the order of execution. `device`: the latency is that of a layer's kernels;
// kernels in no layer are in a last one without a name.
Result<std::vector<LayerCost>> layers_of(store::Database& database, int64_t batch, bool device);

// Corresponding layers of all evaluations.
struct LayerSet {
  std::vector<std::vector<size_t>> members;  // by evaluation: indices of its layers
  std::vector<Matched> matched;              // by evaluation: how they match the reference's
};
// Returns the sets in the order of the reference. Sets that it lacks come behind their
// predecessors. Layers with one name in two other evaluations, which the reference lacks, are one
// set.
std::vector<LayerSet> align_all(const std::vector<std::vector<LayerCost>>& evaluations);

// Adds the columns for the numbers of a row: per evaluation, and the differences to the first.
void add_difference_columns(TableBuilder* builder, size_t evaluations, const std::string& of);
// Appends to `cells` the differences of a row, and their shares of the differences of the sums.
// NULL: the evaluation was not measured.
Rank add_differences(const std::vector<std::optional<double>>& latencies,
                     const std::vector<double>& totals, const std::vector<bool>& has,
                     std::vector<store::Value>* cells);

Result<Comparison> compare_model(Databases evaluations, const CompareOptions& options);
Result<Comparison> compare_causes(Databases evaluations, const CompareOptions& options);
Result<Comparison> compare_layers(Databases evaluations, const CompareOptions& options);
Result<Comparison> compare_kernels(Databases evaluations, const CompareOptions& options);
Result<Comparison> compare_facts(Databases evaluations);
// Returns what makes the numbers hard to compare: other models, other inputs, the profiles'
// warnings.
Result<std::vector<std::string>> warnings_of(Databases evaluations);

// Returns Comparison.other_inputs.
Result<std::string> other_inputs_of(Databases evaluations);
// Returns Comparison.unknown_batches, if calls are compared.
Result<std::string> unknown_batches_of(Databases evaluations);

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_TABLES_H_

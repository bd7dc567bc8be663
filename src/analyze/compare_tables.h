// What the tables of a comparison share. For src/analyze alone.
#ifndef XSP_ANALYZE_COMPARE_TABLES_H_
#define XSP_ANALYZE_COMPARE_TABLES_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/compare.h"
#include "analyze/compare_align.h"

namespace xsp::analyze {

using Databases = std::span<store::Database* const>;

// The states of an evaluation at a batch size, in the columns state_a, state_b, ...
inline constexpr const char* kMeasured = "measured";
inline constexpr const char* kFailed = "failed";
inline constexpr const char* kInterrupted = "interrupted";
inline constexpr const char* kNotTried = "not tried";

// The greatest difference of a row to the reference, then its greatest latency.
using Rank = std::pair<double, double>;

// Adds columns, and rows of as many cells.
class TableBuilder {
 public:
  // `name` without its unit, which is put behind it: "latency_a" of "ns" is latency_a_ns.
  void column(const std::string& name, const std::string& unit, const std::string& description);
  void row(std::vector<store::Value> cells) { rows_.push_back(std::move(cells)); }
  // The rows in their order, or greatest first by their ranks.
  Comparison finish(const std::vector<Rank>& ranks = {}) &&;

 private:
  Comparison comparison_;
  std::vector<std::vector<store::Value>> rows_;
};

// "latency" of the second is "latency_b".
std::string named(const std::string& what, size_t evaluation);

// Cells.
std::optional<double> number_of(const store::Value& value);
std::string text_of(const store::Value& value);
store::Value cell(const std::optional<double>& number);
std::string json_of(const std::vector<std::string>& texts);  // an array

// Which evaluations have a level, at which batch size; and why the others have not.
struct Choice {
  int64_t batch = 1;
  std::vector<bool> has;  // by evaluation
  std::vector<std::string> warnings;
};
// The batch asked for, or the smallest that all have which measured the level at all. An error if
// the reference has not, or nobody else.
Result<Choice> choose_batch(Databases evaluations, const std::string& level,
                            const std::optional<int64_t>& batch);

// One layer of one evaluation.
struct LayerCost {
  AlignedLayer layer;
  std::string label;                 // in the model's own names
  std::optional<double> latency_ns;  // in one inference, without nested layers
  std::optional<double> flops;       // by its shapes
  std::optional<double> bytes;
};
// In the order of execution. `device`: the latency is that of its kernels; those in no layer are in
// a last one without a name.
Result<std::vector<LayerCost>> layers_of(store::Database& database, int64_t batch, bool device);

// Layers of all evaluations that belong together.
struct LayerSet {
  std::vector<std::vector<size_t>> members;  // by evaluation: indices of its layers
  std::vector<Matched> matched;              // by evaluation: with the reference's
};
// In the order of the reference; those that it has not behind their predecessors. What two others
// have under one name, and the reference has not, is one set.
std::vector<LayerSet> align_all(const std::vector<std::vector<LayerCost>>& evaluations);

// What the numbers of a row are: per evaluation, and the differences to the first.
void add_difference_columns(TableBuilder* builder, size_t evaluations, const std::string& of);
// The differences of a row, their shares of the differences of the sums, appended to `cells`; NULL
// where an evaluation was not measured.
Rank add_differences(const std::vector<std::optional<double>>& latencies,
                     const std::vector<double>& totals, const std::vector<bool>& has,
                     std::vector<store::Value>* cells);

Result<Comparison> compare_model(Databases evaluations, const CompareOptions& options);
Result<Comparison> compare_layers(Databases evaluations, const CompareOptions& options);
Result<Comparison> compare_kernels(Databases evaluations, const CompareOptions& options);
Result<Comparison> compare_facts(Databases evaluations);
// What makes numbers hard to compare: other models, other inputs, what the profiles warned of.
Result<std::vector<std::string>> warnings_of(Databases evaluations);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_COMPARE_TABLES_H_

// The table `kernels`.
//
// A kernel's counterpart is searched for in the counterpart of its layer: first a kernel of the
// same name; then, if as many kernels remain on either side, the one at the same position; else the
// longest of each side. The remaining kernels are matched by name, in any layer. A row is the sum
// over all layers with the same pair of kernels.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "desk/analyze/prelude.h"
#include "desk/compare/tables.h"

namespace xsp::compare {
namespace {

using store::Database;
using store::Table;
using store::Value;

constexpr size_t kNothing = static_cast<size_t>(-1);

const char* const kKernelsSql = R"(
  SELECT name, kernel_label(name), coalesce(layer, ''), CAST(per_inference AS DOUBLE),
    CAST(latency_ns AS DOUBLE), CAST(flops AS DOUBLE), CAST(dram_bytes AS DOUBLE),
    CAST(kernel_work(name, pipe) AS DOUBLE) = 2
  FROM kernel_facts([CAST($batch AS INTEGER)], 'measured')
  ORDER BY ordinal, position, site_id)";

struct Kernel {
  std::string name;
  std::string label;
  size_t set = 0;  // set of layers
  double count = 0;
  double latency_ns = 0;
  std::optional<double> flops;
  std::optional<double> bytes;
  bool is_product = false;  // it multiplies matrices
};

// Numbers the sets of layers, by evaluation and layer's name. A name that is not in the layer runs
// gets its own set.
class SetNumbers {
 public:
  explicit SetNumbers(const std::vector<std::vector<LayerCost>>& layers) : by_name_(layers.size()) {
    for (const LayerSet& set : align_all(layers)) {
      for (size_t e = 0; e < layers.size(); ++e) {
        for (const size_t i : set.members[e]) by_name_[e].emplace(layers[e][i].layer.name, next_);
      }
      ++next_;
    }
  }
  size_t of(size_t evaluation, const std::string& layer) {
    const auto found = by_name_[evaluation].find(layer);
    if (found != by_name_[evaluation].end()) return found->second;
    if (layer.empty()) return kNothing;  // in no layer
    const auto [at, is_new] = others_.emplace(layer, next_);
    next_ += is_new ? 1 : 0;
    return at->second;
  }

 private:
  std::vector<std::map<std::string, size_t>> by_name_;
  std::map<std::string, size_t> others_;
  size_t next_ = 0;
};

Result<std::vector<Kernel>> kernels_of(Database& database, int64_t batch, size_t evaluation,
                                       SetNumbers* sets) {
  XSP_TRY(const Table table,
          analyze::query_with_prelude(database, kKernelsSql, {{"batch", batch}}));
  std::vector<Kernel> kernels;
  for (const auto& row : table.rows) {
    kernels.push_back({text_of(row[0]), text_of(row[1]), sets->of(evaluation, text_of(row[2])),
                       number_of(row[3]).value_or(0), number_of(row[4]).value_or(0),
                       number_of(row[5]), number_of(row[6]), row[7] == Value(true)});
  }
  return kernels;
}

using Indices = std::vector<size_t>;

// Finds the second side's counterpart of each kernel of the first.
class Pairing {
 public:
  Pairing(const std::vector<Kernel>& first, const std::vector<Kernel>& second)
      : first_(first),
        second_(second),
        partner_(first.size(), kNothing),
        is_taken_(second.size(), false) {
    std::map<size_t, std::pair<Indices, Indices>> by_set;
    for (size_t i = 0; i < first.size(); ++i) by_set[first[i].set].first.push_back(i);
    for (size_t j = 0; j < second.size(); ++j) by_set[second[j].set].second.push_back(j);
    by_set.erase(kNothing);
    for (const auto& [set, both] : by_set) {
      pair_by_label(both.first, both.second);
      // A product has a product in its place, and not what prepares another one.
      pair_by_position(products(left(both.first, both.second)));
      pair_by_position(left(both.first, both.second));
    }
    Indices all_first(first.size());
    Indices all_second(second.size());
    for (size_t i = 0; i < first.size(); ++i) all_first[i] = i;
    for (size_t j = 0; j < second.size(); ++j) all_second[j] = j;
    pair_by_label(all_first, all_second);
  }
  size_t partner(size_t i) const { return partner_[i]; }
  bool is_taken(size_t j) const { return is_taken_[j]; }

 private:
  void pair(size_t i, size_t j) {
    partner_[i] = j;
    is_taken_[j] = true;
  }
  std::pair<Indices, Indices> left(const Indices& first, const Indices& second) const {
    std::pair<Indices, Indices> rest;
    for (const size_t i : first) {
      if (partner_[i] == kNothing) rest.first.push_back(i);
    }
    for (const size_t j : second) {
      if (!is_taken_[j]) rest.second.push_back(j);
    }
    return rest;
  }
  std::pair<Indices, Indices> products(const std::pair<Indices, Indices>& of) const {
    std::pair<Indices, Indices> found;
    for (const size_t i : of.first) {
      if (first_[i].is_product) found.first.push_back(i);
    }
    for (const size_t j : of.second) {
      if (second_[j].is_product) found.second.push_back(j);
    }
    return found;
  }
  void pair_by_label(const Indices& first, const Indices& second) {
    std::map<std::string_view, std::deque<size_t>> waiting;
    for (const size_t j : second) {
      if (!is_taken_[j]) waiting[second_[j].label].push_back(j);
    }
    for (const size_t i : first) {
      const auto found = waiting.find(first_[i].label);
      if (partner_[i] != kNothing || found == waiting.end() || found->second.empty()) continue;
      pair(i, found->second.front());
      found->second.pop_front();
    }
  }
  void pair_by_position(const std::pair<Indices, Indices>& rest) {
    const auto& [first, second] = rest;
    if (first.empty() || second.empty()) return;
    if (first.size() == second.size()) {
      for (size_t k = 0; k < first.size(); ++k) pair(first[k], second[k]);
      return;
    }
    pair(longest(first_, first), longest(second_, second));
  }
  static size_t longest(const std::vector<Kernel>& kernels, const Indices& among) {
    return *std::max_element(among.begin(), among.end(), [&](size_t a, size_t b) {
      return kernels[a].latency_ns < kernels[b].latency_ns;
    });
  }

  const std::vector<Kernel>& first_;
  const std::vector<Kernel>& second_;
  Indices partner_;
  std::vector<bool> is_taken_;
};

// The sum of the same kernels in one row, by evaluation.
struct Sum {
  double count = 0;
  double latency_ns = 0;
  std::optional<double> flops;
  std::optional<double> bytes;
  std::set<std::string> names;

  void add(const Kernel& one) {
    names.insert(one.name);
    flops = known_sum(flops, one.flops);
    bytes = known_sum(bytes, one.bytes);
    count += one.count;
    latency_ns += one.latency_ns;
  }

 private:
  // The sum is unknown as soon as one addend is unknown.
  std::optional<double> known_sum(const std::optional<double>& sum,
                                  const std::optional<double>& one) const {
    if (count == 0) return one;
    return sum && one ? std::optional(*sum + *one) : std::nullopt;
  }
};
struct Row {
  std::vector<std::optional<Sum>> sums;
  std::set<size_t> sets;
};
using Labels = std::vector<std::string>;  // by evaluation; empty: no kernel

class Rows {
 public:
  void add(const std::vector<std::vector<Kernel>>& kernels, const Indices& members) {
    Labels labels;
    for (size_t e = 0; e < members.size(); ++e) {
      labels.push_back(members[e] == kNothing ? std::string() : kernels[e][members[e]].label);
    }
    Row& row = by_labels_[labels];
    row.sums.resize(members.size());
    for (size_t e = 0; e < members.size(); ++e) {
      if (members[e] == kNothing) continue;
      const Kernel& one = kernels[e][members[e]];
      if (!row.sums[e]) row.sums[e].emplace();
      row.sums[e]->add(one);
      if (one.set != kNothing) row.sets.insert(one.set);
    }
  }
  const std::map<Labels, Row>& all() const { return by_labels_; }

 private:
  std::map<Labels, Row> by_labels_;
};

Rows aligned(const std::vector<std::vector<Kernel>>& kernels) {
  std::vector<Pairing> pairings;
  for (size_t e = 1; e < kernels.size(); ++e) pairings.emplace_back(kernels[0], kernels[e]);
  Rows rows;
  for (size_t i = 0; i < kernels[0].size(); ++i) {
    Indices members = {i};
    for (const Pairing& one : pairings) members.push_back(one.partner(i));
    rows.add(kernels, members);
  }
  for (size_t e = 1; e < kernels.size(); ++e) {
    for (size_t j = 0; j < kernels[e].size(); ++j) {
      if (pairings[e - 1].is_taken(j)) continue;
      Indices members(kernels.size(), kNothing);
      members[e] = j;
      rows.add(kernels, members);
    }
  }
  return rows;
}

void add_kernel_columns(TableBuilder* table, size_t evaluations) {
  table->column("kernel", "text", "Its label in A, or in the first that runs it.");
  for (size_t e = 1; e < evaluations; ++e) {
    table->column(named("matched", e), "text",
                  "What " + letter_of(e) +
                      " runs in its place was found by name, by position in the layer; or none.");
    table->column(named("kernel", e), "text", "What " + letter_of(e) + " runs in its place.");
  }
  table->column("layers", "count", "Layers, or groups of layers, in which it is so.");
  for (size_t e = 0; e < evaluations; ++e) {
    table->column(named("count", e), "number",
                  "Executions in an inference of " + letter_of(e) + ".");
  }
  add_difference_columns(table, evaluations, "Sum of the durations");
  for (size_t e = 0; e < evaluations; ++e) {
    const std::string letter = letter_of(e);
    table->column(named("counted", e), "flops", "Flops that were counted in " + letter + ".");
    table->column(named("moved", e), "bytes", "Bytes of DRAM that were counted in " + letter + ".");
    table->column(named("names", e), "text", "Names of the kernels in " + letter + ", as JSON.");
  }
}

Rank fill(const Labels& labels, const Row& row, const std::vector<double>& totals,
          const std::vector<bool>& has, std::vector<Value>* cells) {
  const Value none = std::monostate{};
  cells->push_back(
      *std::find_if(labels.begin(), labels.end(), [](const auto& one) { return !one.empty(); }));
  std::vector<std::optional<double>> latencies;
  for (size_t e = 0; e < labels.size(); ++e) {
    latencies.push_back(row.sums[e] ? std::optional(row.sums[e]->latency_ns) : std::nullopt);
    if (e == 0) continue;
    const char* matched = labels[0].empty() || labels[e].empty() ? "none"
                          : labels[e] == labels[0]               ? "name"
                                                                 : "position";
    cells->push_back(has[e] ? Value(std::string(matched)) : none);
    cells->push_back(labels[e].empty() ? none : Value(labels[e]));
  }
  cells->push_back(static_cast<int64_t>(row.sets.size()));
  for (const auto& sum : row.sums) cells->push_back(sum ? Value(sum->count) : none);
  const Rank rank = add_differences(latencies, totals, has, cells);
  for (const auto& sum : row.sums) {
    cells->push_back(sum ? cell(sum->flops) : none);
    cells->push_back(sum ? cell(sum->bytes) : none);
    cells->push_back(sum ? json_of({sum->names.begin(), sum->names.end()}) : none);
  }
  return rank;
}

}  // namespace

Result<Comparison> compare_kernels(Databases evaluations, const CompareOptions& options) {
  XSP_TRY(Choice choice, choose_batch(evaluations, "kernel", options.batch));
  const size_t count = evaluations.size();
  std::vector<std::vector<LayerCost>> layers(count);
  for (size_t e = 0; e < count; ++e) {
    if (!choice.has[e]) continue;
    XSP_TRY(layers[e], layers_of(*evaluations[e], choice.batch, false));
  }
  SetNumbers sets(layers);
  std::vector<std::vector<Kernel>> kernels(count);
  std::vector<double> totals(count, 0);
  for (size_t e = 0; e < count; ++e) {
    if (!choice.has[e]) continue;
    XSP_TRY(kernels[e], kernels_of(*evaluations[e], choice.batch, e, &sets));
    for (const Kernel& one : kernels[e]) totals[e] += one.latency_ns;
  }
  TableBuilder table;
  add_kernel_columns(&table, count);
  std::vector<Rank> ranks;
  const Rows rows = aligned(kernels);
  for (const auto& [labels, row] : rows.all()) {
    std::vector<Value> cells;
    ranks.push_back(fill(labels, row, totals, choice.has, &cells));
    table.row(std::move(cells));
  }
  Comparison comparison = std::move(table).finish(ranks);
  comparison.batch = choice.named;
  comparison.warnings = std::move(choice.warnings);
  return comparison;
}

}  // namespace xsp::compare

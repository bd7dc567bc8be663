// The table `layers`.
#include <algorithm>

#include "desk/analyze/prelude.h"
#include "desk/compare/tables.h"

namespace xsp::compare {
namespace {

using store::Table;
using store::Value;

constexpr size_t kNamesShown = 4;

// Returns text like "layer1/0/conv1 +bn1 +relu": the other names leave out the folder that they
// share with the first.
std::string label_of(const std::vector<LayerCost>& layers, const std::vector<size_t>& members) {
  if (members.empty()) return {};
  const std::string& first = layers[members[0]].label;
  std::string text = first;
  for (size_t k = 1; k < members.size(); ++k) {
    if (k == kNamesShown) {
      text += " +" + std::to_string(members.size() - k) + " more";
      break;
    }
    const std::string& label = layers[members[k]].label;
    size_t shared = 0;
    for (size_t i = 0; i < std::min(first.size(), label.size()) && first[i] == label[i]; ++i) {
      if (first[i] == '/') shared = i + 1;
    }
    text += " +" + label.substr(shared);
  }
  return text;
}

Value names_of(const std::vector<LayerCost>& layers, const std::vector<size_t>& members) {
  if (members.empty()) return std::monostate{};
  std::vector<std::string> names;
  for (const size_t i : members) names.push_back(layers[i].layer.name);
  return json_of(names);
}

// Returns the sum over the members, or nothing if there are none or (`strict`) one is not known.
std::optional<double> sum_of(const std::vector<LayerCost>& layers,
                             const std::vector<size_t>& members,
                             std::optional<double> LayerCost::*field, bool strict) {
  std::optional<double> sum;
  for (const size_t i : members) {
    const std::optional<double>& one = layers[i].*field;
    if (!one && strict) return std::nullopt;
    if (one) sum = sum.value_or(0) + *one;
  }
  return sum;
}

void add_layer_columns(TableBuilder* table, size_t evaluations) {
  table->column("index", "count",
                "Position in the order of execution of A, from 0; empty: A does not have it.");
  table->column("layer", "text", "In A, or in the first that has it; of a group, all of them.");
  table->column("type", "text", "Its operator.");
  for (size_t e = 1; e < evaluations; ++e) {
    table->column(named("matched", e), "text",
                  "What " + letter_of(e) +
                      " has in its place was found by name, by order (and type), as a group of "
                      "layers; or none.");
    table->column(named("layer", e), "text", "What " + letter_of(e) + " has in its place.");
    table->column(named("type", e), "text", "Its operator there.");
  }
  add_difference_columns(table, evaluations, "Latency without nested layers");
  for (size_t e = 0; e < evaluations; ++e) {
    const std::string letter = letter_of(e);
    table->column(named("analytic", e), "flops",
                  "Analytic flops of an inference in " + letter + ".");
    table->column(named("moved", e), "bytes", "Bytes that must be moved in " + letter + ".");
    table->column(named("names", e), "text", "Names of its layers in " + letter + ", as JSON.");
  }
}

// The layers of all evaluations, with their sums.
struct Layers {
  std::vector<std::vector<LayerCost>> of;  // by evaluation; empty: not measured
  std::vector<double> totals;
  bool are_on_device = false;  // all times are of their kernels, which recording does not change
};

Result<Layers> gather(Databases evaluations, LayerTime time, Choice* choice) {
  Layers layers;
  std::string times;
  size_t on_device = 0;
  size_t measured = 0;
  for (size_t e = 0; e < evaluations.size(); ++e) {
    layers.of.emplace_back();
    layers.totals.push_back(0);
    if (!choice->has[e]) continue;
    XSP_TRY(const Table kernels,
            analyze::query_with_prelude(
                *evaluations[e], "SELECT 1 FROM measured_batches('kernel') WHERE batch = $batch",
                {{"batch", choice->batch}}));
    const bool device = time == LayerTime::kWork && !kernels.rows.empty();
    XSP_TRY(layers.of[e], layers_of(*evaluations[e], choice->batch, device));
    for (const LayerCost& one : layers.of[e]) layers.totals[e] += one.latency_ns.value_or(0);
    times += (times.empty() ? "" : ", ") + letter_of(e) +
             (device ? ": of their kernels on the device" : ": on the host");
    on_device += device ? 1 : 0;
    ++measured;
  }
  layers.are_on_device = on_device == measured;
  if (on_device > 0 && on_device < measured) {
    choice->warnings.push_back("the layers' times are not of one kind: " + times);
  }
  return layers;
}

// Adds the cells of one set of layers. Returns its rank.
Rank fill(const LayerSet& set, const Layers& layers, const std::vector<bool>& has,
          std::vector<Value>* cells) {
  size_t lead = 0;
  while (set.members[lead].empty()) ++lead;
  const Value none = std::monostate{};
  cells->push_back(lead == 0 ? Value(static_cast<int64_t>(set.members[0][0])) : none);
  cells->push_back(label_of(layers.of[lead], set.members[lead]));
  cells->push_back(layers.of[lead][set.members[lead][0]].layer.type);
  std::vector<std::optional<double>> latencies;
  for (size_t e = 0; e < set.members.size(); ++e) {
    const auto& members = set.members[e];
    const auto& of = layers.of[e];
    latencies.push_back(sum_of(of, members, &LayerCost::latency_ns, false));
    if (e == 0) continue;
    cells->push_back(has[e] ? Value(std::string(name_of(set.matched[e]))) : none);
    cells->push_back(members.empty() ? none : Value(label_of(of, members)));
    cells->push_back(members.empty() ? none : Value(of[members[0]].layer.type));
  }
  const Rank rank = add_differences(latencies, layers.totals, has, cells);
  for (size_t e = 0; e < set.members.size(); ++e) {
    const auto& members = set.members[e];
    cells->push_back(cell(sum_of(layers.of[e], members, &LayerCost::flops, true)));
    cells->push_back(cell(sum_of(layers.of[e], members, &LayerCost::bytes, true)));
    cells->push_back(names_of(layers.of[e], members));
  }
  return rank;
}

}  // namespace

Result<Comparison> compare_layers(Databases evaluations, const CompareOptions& options) {
  XSP_TRY(Choice choice, choose_batch(evaluations, "layer", options.batch));
  XSP_TRY(const Layers layers, gather(evaluations, options.time, &choice));
  if (!layers.are_on_device) XSP_CHECK_OK(warn_of_distortion(evaluations, "layer", &choice));
  TableBuilder table;
  add_layer_columns(&table, evaluations.size());
  std::vector<Rank> ranks;
  bool is_any_matched = std::count(choice.has.begin(), choice.has.end(), true) < 2;
  for (const LayerSet& set : align_all(layers.of)) {
    std::vector<Value> cells;
    ranks.push_back(fill(set, layers, choice.has, &cells));
    table.row(std::move(cells));
    const auto empty = std::count_if(set.members.begin(), set.members.end(),
                                     [](const auto& members) { return members.empty(); });
    is_any_matched = is_any_matched || set.members.size() - static_cast<size_t>(empty) > 1;
  }
  if (!is_any_matched) {
    choice.warnings.push_back(
        "no layer of one is a layer of another: they have other names, types "
        "and order: compare the kernels, or the causes");
  }
  Comparison comparison = std::move(table).finish(ranks);
  comparison.batch = choice.named;
  comparison.warnings = std::move(choice.warnings);
  return comparison;
}

}  // namespace xsp::compare

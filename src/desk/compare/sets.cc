// Reads the layers of each evaluation, and finds the corresponding ones.
#include <algorithm>
#include <map>
#include <tuple>

#include "desk/analyze/prelude.h"
#include "desk/compare/disjoint_sets.h"
#include "desk/compare/tables.h"
#include "shared/base/words.h"

namespace xsp::compare {
namespace {

using store::Database;
using store::Table;
using store::Value;

const char* const kLayersSql = R"(
  SELECT l.name, coalesce(l.type, ''), layer_label(l.name, s.source_layers),
    coalesce(array_to_string(s.source_layers, chr(31)), ''),
    CAST(coalesce(elements(l.outputs[1]), 0) AS DOUBLE), CAST(l.self_ns AS DOUBLE),
    CAST(l.flops AS DOUBLE), CAST(l.bytes AS DOUBLE)
  FROM layer_cost l
    LEFT JOIN layer_shapes(CAST($batch AS INTEGER)) s USING (site_id)
  ORDER BY l.ordinal, l.site_id)";

// The layers of the kernel run, with the time of their kernels.
const char* const kKernelTimeSql = R"(
  WITH kernel AS (
    SELECT layer, sum(latency_ns) AS latency_ns FROM kernels([CAST($batch AS INTEGER)])
    GROUP BY layer),
  seen AS (SELECT DISTINCT name FROM site_names([chosen_run(6, CAST($batch AS INTEGER))], 3))
  SELECT coalesce(seen.name, kernel.layer, ''), CAST(coalesce(latency_ns, 0) AS DOUBLE)
  FROM seen FULL JOIN kernel ON kernel.layer = seen.name)";

// Sets the layers' latencies to their kernels' time. A layer that is not in the kernel run has
// none. If several layers share a name, the first has all of it.
Status use_kernel_time(Database& database, int64_t batch, std::vector<LayerCost>* layers) {
  XSP_TRY(const Table table,
          analyze::query_with_prelude(database, kKernelTimeSql, {{"batch", batch}}));
  std::map<std::string, double> by_name;
  for (const auto& row : table.rows) by_name[text_of(row[0])] = number_of(row[1]).value_or(0);
  for (LayerCost& one : *layers) {
    const auto found = by_name.find(one.layer.name);
    one.latency_ns.reset();
    if (found == by_name.end()) continue;
    one.latency_ns = found->second;
    found->second = 0;
  }
  // The remaining time belongs to layers that are not in the layer run, or to no layer.
  double rest = 0;
  for (const auto& [name, latency] : by_name) rest += latency;
  if (rest > 0) {
    layers->push_back({{"", "", {}, 0}, "(in no layer)", rest, std::nullopt, std::nullopt});
  }
  return Ok{};
}

}  // namespace

Result<std::vector<LayerCost>> layers_of(Database& database, int64_t batch, bool device) {
  XSP_CHECK_OK(analyze::ask_for(database, {.batch = batch}));
  XSP_TRY(const Table table, analyze::query_with_prelude(database, kLayersSql, {{"batch", batch}}));
  std::vector<LayerCost> layers;
  for (const auto& row : table.rows) {
    LayerCost one;
    one.layer.name = text_of(row[0]);
    one.layer.type = text_of(row[1]);
    one.label = text_of(row[2]);
    one.layer.stands_for = split(text_of(row[3]), '\x1f');
    one.layer.elements = number_of(row[4]).value_or(0);
    one.latency_ns = number_of(row[5]);
    one.flops = number_of(row[6]);
    one.bytes = number_of(row[7]);
    layers.push_back(std::move(one));
  }
  if (device) XSP_CHECK_OK(use_kernel_time(database, batch, &layers));
  return layers;
}

namespace {

// Sets of the layers of all evaluations, which are numbered one evaluation after the other.
class NumberedSets {
 public:
  explicit NumberedSets(const std::vector<std::vector<LayerCost>>& evaluations) : sets_(0) {
    size_t count = 0;
    for (const auto& one : evaluations) {
      offsets_.push_back(count);
      count += one.size();
    }
    sets_ = DisjointSets(count);
  }
  size_t find(size_t evaluation, size_t layer) { return sets_.find(offsets_[evaluation] + layer); }
  void join(size_t a, size_t layer_a, size_t b, size_t layer_b) {
    sets_.join(offsets_[a] + layer_a, offsets_[b] + layer_b);
  }

 private:
  std::vector<size_t> offsets_;
  DisjointSets sets_;
};

std::vector<AlignedLayer> aligned_layers(const std::vector<LayerCost>& layers) {
  std::vector<AlignedLayer> aligned;
  for (const LayerCost& one : layers) aligned.push_back(one.layer);
  return aligned;
}

// A set's place in the order of the reference: the layer that it comes behind, then the evaluation.
using Place = std::tuple<ptrdiff_t, size_t, size_t>;

Matched matched_of(const LayerSet& set, size_t evaluation, Matched pair) {
  const size_t first = set.members[0].size();
  const size_t second = set.members[evaluation].size();
  if (first == 0 || second == 0) return Matched::kNone;
  return first > 1 || second > 1 ? Matched::kGroup : pair;
}

}  // namespace

std::vector<LayerSet> align_all(const std::vector<std::vector<LayerCost>>& evaluations) {
  const size_t count = evaluations.size();
  NumberedSets sets(evaluations);
  const std::vector<AlignedLayer> reference = aligned_layers(evaluations[0]);
  // By evaluation and layer of the reference: how it was matched.
  std::vector<std::vector<Matched>> how(count, std::vector<Matched>(reference.size()));
  std::map<std::string, std::pair<size_t, size_t>> alone;  // by name: layers that the reference
                                                           // lacks
  for (size_t e = 1; e < count; ++e) {
    for (const Match& match : align(reference, aligned_layers(evaluations[e]))) {
      for (const size_t i : match.first) {
        how[e][i] = match.how;
        sets.join(0, match.first[0], 0, i);
      }
      for (const size_t j : match.second) {
        if (!match.first.empty()) {
          sets.join(0, match.first[0], e, j);
          continue;
        }
        const auto [at, is_new] = alone.emplace(evaluations[e][j].layer.name, std::pair(e, j));
        if (!is_new && at->second.first != e) sets.join(at->second.first, at->second.second, e, j);
      }
    }
  }
  std::map<size_t, LayerSet> by_root;
  std::map<size_t, Place> places;
  for (size_t e = 0; e < count; ++e) {
    ptrdiff_t last = -1;
    for (size_t i = 0; i < evaluations[e].size(); ++i) {
      const size_t root = sets.find(e, i);
      LayerSet& set = by_root[root];
      set.members.resize(count);
      set.members[e].push_back(i);
      const Place place = e == 0 ? Place(static_cast<ptrdiff_t>(i), 0, 0) : Place(last, e, i);
      const auto at = places.emplace(root, place).first;
      last = std::get<0>(at->second);
    }
  }
  std::vector<std::pair<Place, LayerSet>> ordered;
  for (auto& [root, set] : by_root) {
    for (size_t e = 0; e < count; ++e) {
      const Matched pair = set.members[0].empty() ? Matched::kNone : how[e][set.members[0][0]];
      set.matched.push_back(e == 0 ? Matched::kNone : matched_of(set, e, pair));
    }
    ordered.emplace_back(places.at(root), std::move(set));
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LayerSet> result;
  for (auto& [place, set] : ordered) result.push_back(std::move(set));
  return result;
}

}  // namespace xsp::compare

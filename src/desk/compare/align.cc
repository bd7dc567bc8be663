#include "desk/compare/align.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "desk/compare/disjoint_sets.h"
#include "desk/compare/types.h"

namespace xsp::compare {
namespace {

constexpr size_t kNobody = static_cast<size_t>(-1);

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '/') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Gives the paths of modules one spelling: "/layer1/layer1.0/conv1/Conv", "layer1.0.conv1" and
// "layer1/0/conv1/_convolution" all become paths below layer1/0/conv1. The last part stays as it
// is, except for the underscore of an operation in place.
std::string plain_path(const std::string& name) {
  std::string path;
  std::string before;
  for (const std::string& part : components(name)) {
    if (part.empty()) continue;
    const bool repeats = !before.empty() && part.rfind(before + ".", 0) == 0;
    std::string own = repeats ? part.substr(before.size() + 1) : part;
    std::replace(own.begin(), own.end(), '.', '/');
    path += (path.empty() ? "" : "/") + own;
    before = part;
  }
  while (path.size() > 1 && path.back() == '_') path.pop_back();
  return path;
}

// Returns the path without its last part, if that part names an operation of this class; else
// nothing.
std::optional<std::string> module_path(const std::string& path) {
  const size_t end = path.rfind('/');
  if (end == std::string::npos || end == 0) return std::nullopt;
  const std::string last = path.substr(end + 1);
  return is_known_type(last) ? std::optional(path.substr(0, end)) : std::nullopt;
}

class Aligner {
 public:
  Aligner(std::span<const AlignedLayer> first, std::span<const AlignedLayer> second)
      : sides_{first, second}, sets_(first.size() + second.size()) {
    std::map<std::string, int> numbers;
    for (const auto& side : sides_) {
      for (const AlignedLayer& layer : side) {
        const std::string name = class_of_type(layer.type);
        const int number = static_cast<int>(numbers.size());
        classes_.push_back(numbers.emplace(name, number).first->second);
        is_fusable_.push_back(is_fused_behind(name));
      }
    }
  }

  std::vector<Match> run() {
    join_by_name();
    join_by_key();
    count_sides();
    for (const Gap& gap : gaps()) align_gap(gap);
    count_sides();
    join_fused();
    count_sides();
    for (const Gap& gap : gaps()) join_rest(gap);
    return matches();
  }

 private:
  // The unmatched layers between two neighbouring matches, by index within their side.
  struct Gap {
    std::vector<size_t> first, second;
    bool is_enclosed = false;  // there is a match before and one after
  };
  struct Anchor {
    size_t first, second;
  };

  size_t node(int side, size_t index) const { return side == 0 ? index : sides_[0].size() + index; }
  const AlignedLayer& layer(int side, size_t index) const { return sides_[side][index]; }
  bool is_paired(int side, size_t index) { return is_paired_[sets_.find(node(side, index))]; }

  // Finds the sets that have layers of both sides.
  void count_sides() {
    const size_t nodes = sides_[0].size() + sides_[1].size();
    std::vector<int> seen(nodes, 0);
    for (size_t one = 0; one < nodes; ++one) {
      seen[sets_.find(one)] |= one < sides_[0].size() ? 1 : 2;
    }
    is_paired_.assign(nodes, false);
    for (size_t one = 0; one < nodes; ++one) is_paired_[one] = seen[one] == 3;
  }

  // Joins equal names. If several layers share one, the first goes with the first, and so on.
  void join_by_name() {
    std::map<std::string_view, std::array<std::vector<size_t>, 2>> by_name;
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < sides_[side].size(); ++i)
        by_name[layer(side, i).name][side].push_back(i);
    }
    for (const auto& [name, both] : by_name) {
      for (size_t k = 0; k < std::min(both[0].size(), both[1].size()); ++k) {
        sets_.join(node(0, both[0][k]), node(1, both[1][k]));
      }
    }
  }

  // Joins by the layers of the model's own file, and by the modules' paths. A key that several
  // layers of a side share is ignored.
  void join_by_key() {
    std::map<std::string, std::array<size_t, 2>> owners;  // kNobody: no layer; kShared: several
    const size_t shared = kNobody - 1;
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < sides_[side].size(); ++i) {
        const AlignedLayer& one = layer(side, i);
        const auto own = [&](const std::string& key) {
          auto& owner = owners.emplace(key, std::array{kNobody, kNobody}).first->second[side];
          owner = owner == kNobody || owner == i ? i : shared;
        };
        std::vector<std::string> names = one.stands_for;
        if (names.empty()) names.push_back(one.name);
        for (const std::string& name : names) {
          const std::string path = plain_path(name);
          own(path);
          if (const auto module = module_path(path)) own(*module);
        }
      }
    }
    for (const auto& [key, owner] : owners) {
      if (owner[0] < shared && owner[1] < shared) sets_.join(node(0, owner[0]), node(1, owner[1]));
    }
  }

  // Returns the longest chain of matches that are in the same order on both sides (by patience
  // sorting).
  std::vector<Anchor> anchors() {
    std::vector<Anchor> all;
    std::map<size_t, size_t> second_of;  // by set: its first layer of the second side
    for (size_t j = sides_[1].size(); j-- > 0;) second_of[sets_.find(node(1, j))] = j;
    std::vector<bool> is_seen(is_paired_.size(), false);
    for (size_t i = 0; i < sides_[0].size(); ++i) {
      const size_t set = sets_.find(node(0, i));
      if (!is_paired_[set] || is_seen[set]) continue;
      is_seen[set] = true;
      all.push_back({i, second_of[set]});
    }
    std::vector<size_t> ends;  // by length less one: the anchor that ends the best chain
    std::vector<size_t> before(all.size(), kNobody);
    for (size_t k = 0; k < all.size(); ++k) {
      const auto at = std::lower_bound(ends.begin(), ends.end(), k, [&](size_t a, size_t b) {
        return all[a].second < all[b].second;
      });
      if (at != ends.begin()) before[k] = *(at - 1);
      if (at == ends.end()) {
        ends.push_back(k);
      } else {
        *at = k;
      }
    }
    std::vector<Anchor> chain;
    for (size_t k = ends.empty() ? kNobody : ends.back(); k != kNobody; k = before[k]) {
      chain.push_back(all[k]);
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  std::vector<Gap> gaps() {
    std::vector<Anchor> fences = anchors();
    const size_t inner = fences.size();
    fences.push_back({sides_[0].size(), sides_[1].size()});
    std::vector<Gap> found;
    Anchor from = {0, 0};
    for (size_t k = 0; k < fences.size(); ++k) {
      Gap gap;
      gap.is_enclosed = k > 0 && k < inner;
      for (size_t i = from.first; i < fences[k].first; ++i) {
        if (!is_paired(0, i)) gap.first.push_back(i);
      }
      for (size_t j = from.second; j < fences[k].second; ++j) {
        if (!is_paired(1, j)) gap.second.push_back(j);
      }
      from = fences[k];
      if (!gap.first.empty() && !gap.second.empty()) found.push_back(std::move(gap));
    }
    return found;
  }

  // Returns how similar two layers are; 0: not at all.
  int likeness(size_t i, size_t j) const {
    if (classes_[node(0, i)] != classes_[node(1, j)]) return 0;
    const double a = layer(0, i).elements;
    const double b = layer(1, j).elements;
    if (a == 0 || b == 0) return 3;
    return a == b ? 5 : 2;
  }

  // Joins the pairs of the best alignment. A table holds the best sums over the remainders of both
  // sequences, of which two rows are kept, and the step for each entry.
  void align_gap(const Gap& gap) {
    const size_t rows = gap.first.size();
    const size_t columns = gap.second.size();
    if (rows > kAlignPairsMax / columns) return;
    enum Step : uint8_t { kSkipFirst, kSkipSecond, kPair };
    std::vector<uint8_t> steps(rows * columns);
    std::vector<int> below(columns + 1, 0);
    std::vector<int> row(columns + 1, 0);
    for (size_t r = rows; r-- > 0;) {
      for (size_t c = columns; c-- > 0;) {
        const int like = likeness(gap.first[r], gap.second[c]);
        const int pair = like > 0 ? like + below[c + 1] : -1;
        uint8_t& step = steps[r * columns + c];
        row[c] = std::max({pair, below[c], row[c + 1]});
        step = row[c] == pair ? kPair : row[c] == below[c] ? kSkipFirst : kSkipSecond;
      }
      std::swap(row, below);
    }
    for (size_t r = 0, c = 0; r < rows && c < columns;) {
      const uint8_t step = steps[r * columns + c];
      if (step == kPair) {
        sets_.join(node(0, gap.first[r]), node(1, gap.second[c]));
        by_order_.push_back(gap.first[r]);
      }
      r += step != kSkipSecond ? 1 : 0;
      c += step != kSkipFirst ? 1 : 0;
    }
  }

  using Members = std::array<std::vector<size_t>, 2>;  // layers of a set, by side

  // Returns whether the counterpart of these layers of `side` may contain more layers than they
  // are.
  bool may_hold_more(const Members& members, size_t side) const {
    const size_t lead = members[side].front();
    for (const size_t j : members[1 - side]) {
      const AlignedLayer& other = sides_[1 - side][j];
      if (other.stands_for.size() > members[side].size()) return true;
      if (other.stands_for.empty() && other.type != sides_[side][lead].type) return true;
    }
    return false;
  }

  void join_fused() {
    std::map<size_t, Members> members;  // by set
    for (size_t side = 0; side < 2; ++side) {
      for (size_t i = 0; i < sides_[side].size(); ++i) {
        members[sets_.find(node(static_cast<int>(side), i))][side].push_back(i);
      }
    }
    for (size_t side = 0; side < 2; ++side) {
      const int s = static_cast<int>(side);
      for (size_t i = 1; i < sides_[side].size(); ++i) {
        if (is_paired(s, i) || !is_fusable_[node(s, i)] || !is_paired(s, i - 1)) continue;
        const size_t set = sets_.find(node(s, i - 1));
        if (!may_hold_more(members[set], side)) continue;
        sets_.join(set, node(s, i));
        members[set][side].push_back(i);
      }
    }
  }

  void join_rest(const Gap& gap) {
    if (!gap.is_enclosed) return;
    // Two single layers of different types are not parts of the same group.
    const size_t most = std::max(gap.first.size(), gap.second.size());
    if (most == 1 || most > kGroupLayersMax) return;
    for (const size_t i : gap.first) sets_.join(node(0, gap.first.front()), node(0, i));
    for (const size_t j : gap.second) sets_.join(node(0, gap.first.front()), node(1, j));
  }

  std::vector<Match> matches() {
    std::vector<Match> found;
    std::map<size_t, size_t> place;  // by set
    for (size_t i = 0; i < sides_[0].size(); ++i) {
      const auto [at, is_new] = place.emplace(sets_.find(node(0, i)), found.size());
      if (is_new) found.emplace_back();
      found[at->second].first.push_back(i);
    }
    // Adds the unmatched layers of the second side behind the match of the layer before.
    std::vector<std::vector<Match>> behind(found.size() + 1);
    size_t last = 0;  // 0: before all; else the match's place plus 1
    for (size_t j = 0; j < sides_[1].size(); ++j) {
      const auto at = place.find(sets_.find(node(1, j)));
      if (at != place.end()) {
        found[at->second].second.push_back(j);
        last = at->second + 1;
      } else {
        behind[last].push_back({Matched::kNone, {}, {j}});
      }
    }
    std::vector<Match> ordered = std::move(behind[0]);
    for (size_t k = 0; k < found.size(); ++k) {
      found[k].how = how(found[k]);
      ordered.push_back(std::move(found[k]));
      for (Match& one : behind[k + 1]) ordered.push_back(std::move(one));
    }
    return ordered;
  }

  Matched how(const Match& match) const {
    if (match.second.empty()) return Matched::kNone;
    if (match.first.size() > 1 || match.second.size() > 1) return Matched::kGroup;
    const bool is_ordered = std::count(by_order_.begin(), by_order_.end(), match.first[0]) != 0;
    return is_ordered ? Matched::kOrder : Matched::kName;
  }

  std::array<std::span<const AlignedLayer>, 2> sides_;
  DisjointSets sets_;
  std::vector<int> classes_;      // by node
  std::vector<bool> is_fusable_;  // by node
  std::vector<bool> is_paired_;   // by set
  std::vector<size_t> by_order_;  // layers of the first side that step 2 matched
};

}  // namespace

const char* name_of(Matched matched) {
  switch (matched) {
    case Matched::kName:
      return "name";
    case Matched::kOrder:
      return "order";
    case Matched::kGroup:
      return "group";
    case Matched::kNone:
      return "none";
  }
  return "none";
}

std::vector<Match> align(std::span<const AlignedLayer> first,
                         std::span<const AlignedLayer> second) {
  return Aligner(first, second).run();
}

}  // namespace xsp::compare

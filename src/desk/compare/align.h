// Finds which layers of two evaluations correspond.
//
// 1. By name: layers with the same name, or that stand for the same layer of the model's own file
//    (a runtime tells which ones it fused), or whose paths of modules agree. Order does not matter.
// 2. By order and type: between two neighbouring matches of step 1 that keep the order, the
//    unmatched layers are aligned as sequences (S. B. Needleman and C. D. Wunsch, "A general method
//    applicable to the search for similarities in the amino acid sequence of two proteins", Journal
//    of Molecular Biology 48(3), 1970). Only layers of one class of type match, preferably those
//    whose results have the same size.
// 3. Fused layers: an activation, a normalisation or an addition without a counterpart joins the
//    layer before it, if that one's counterpart is another operator, or stands for layers that were
//    not found. Then the unmatched layers of both sides between two neighbouring matches, unless
//    they are one on each side, are the same part of the model, computed differently. These are
//    groups: their sums can be compared.
// 4. All other layers have no counterpart.
//
// Thread rule: pure functions.
#ifndef XSP_DESK_COMPARE_ALIGN_H_
#define XSP_DESK_COMPARE_ALIGN_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace xsp::compare {

struct AlignedLayer {
  std::string name;
  std::string type;
  std::vector<std::string> stands_for;  // layers of the model's own file; empty: not known
  double elements = 0;                  // number of elements of its first result; 0: not known
};

enum class Matched { kNone, kName, kOrder, kGroup };
const char* name_of(Matched matched);

// Corresponding layers, by index. One side is empty if there is no counterpart.
struct Match {
  Matched how = Matched::kNone;
  std::vector<size_t> first;
  std::vector<size_t> second;
};

// The most pairs that are compared between two neighbouring matches (64 MB). Beyond that, the
// layers there have no counterpart.
inline constexpr size_t kAlignPairsMax = 64u << 20;
// The most layers that a group of step 3 has on a side.
inline constexpr size_t kGroupLayersMax = 32;

// Returns matches that contain every layer of both sides once. They are in the order of the first
// side; a layer of the second side alone comes behind its predecessor.
std::vector<Match> align(std::span<const AlignedLayer> first, std::span<const AlignedLayer> second);

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_ALIGN_H_

// Which layer of one evaluation is which of another?
//
// 1. By name: layers of one name, or that stand for the same layer of the model's own file (a
//    runtime says which ones it fused), or whose paths of modules agree. Order does not matter.
// 2. By order and type: between two neighbouring matches of step 1 that keep the order, the layers
//    that are left are aligned as sequences (S. B. Needleman and C. D. Wunsch, "A general method
//    applicable to the search for similarities in the amino acid sequence of two proteins", Journal
//    of Molecular Biology 48(3), 1970): only layers of one class of type meet, best those whose
//    results have the same size.
// 3. What was fused: an activation, a normalisation or an addition that has no counterpart goes
//    with the layer before it, if that one's counterpart is another operator, or stands for layers
//    that were not found; and what is left on both sides between two neighbouring matches, more
//    than one layer for one, is the same part of the model, computed otherwise. These are groups:
//    their sums can be compared.
// 4. Everything else has no counterpart.
//
// Thread rule: pure functions.
#ifndef XSP_ANALYZE_COMPARE_ALIGN_H_
#define XSP_ANALYZE_COMPARE_ALIGN_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace xsp::analyze {

struct AlignedLayer {
  std::string name;
  std::string type;
  std::vector<std::string> stands_for;  // layers of the model's own file; empty: not known
  double elements = 0;                  // of its first result; 0: not known
};

enum class Matched { kNone, kName, kOrder, kGroup };
const char* name_of(Matched matched);

// Layers, by index, that belong together; one side is empty where there is no counterpart.
struct Match {
  Matched how = Matched::kNone;
  std::vector<size_t> first;
  std::vector<size_t> second;
};

// At most so many pairs are looked at between two neighbouring matches (64 MB); beyond, the layers
// there have no counterpart.
inline constexpr size_t kAlignPairsMax = 64u << 20;
// A group of step 3 has at most so many layers on a side.
inline constexpr size_t kGroupLayersMax = 32;

// Every layer of both, each in one match; in the order of the first, those of the second alone
// behind their predecessor.
std::vector<Match> align(std::span<const AlignedLayer> first, std::span<const AlignedLayer> second);

}  // namespace xsp::analyze

#endif  // XSP_ANALYZE_COMPARE_ALIGN_H_

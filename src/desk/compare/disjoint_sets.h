// DisjointSets: the numbers 0..count-1, each in one set, and sets that are joined.
#ifndef XSP_DESK_COMPARE_DISJOINT_SETS_H_
#define XSP_DESK_COMPARE_DISJOINT_SETS_H_

#include <cstddef>
#include <numeric>
#include <vector>

namespace xsp::compare {

class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  // Returns the member that stands for the set of `one`.
  size_t find(size_t one) {
    while (parent_[one] != one) one = parent_[one] = parent_[parent_[one]];
    return one;
  }
  void join(size_t a, size_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<size_t> parent_;
};

}  // namespace xsp::compare

#endif  // XSP_DESK_COMPARE_DISJOINT_SETS_H_

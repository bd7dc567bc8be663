// Difference: how much two tensors differ that should be the same.
#ifndef XSP_DESK_DIVERGENCE_DIFFERENCE_H_
#define XSP_DESK_DIVERGENCE_DIFFERENCE_H_

#include <cstdint>
#include <span>

namespace xsp::divergence {

// Sums up the pairs of elements a and b of any number of tensors.
class Difference {
 public:
  // The spans are equally long. `last` is the last dimension: each `last` elements are the scores
  // of one answer.
  void add(std::span<const double> a, std::span<const double> b, int64_t last);

  int64_t elements() const { return elements_; }
  // Returns the largest |a - b|.
  double max_absolute() const { return max_absolute_; }
  // Returns the largest |a - b| / |a|, over the elements whose |a| is at least a thousandth of the
  // largest |a| of its tensor: smaller ones are noise.
  double max_relative() const { return max_relative_; }
  // Returns the root of the mean (a - b)^2, relative to that of the mean a^2. If a is zero
  // everywhere, 0 if b is, too, and infinity otherwise.
  double rms_relative() const;
  // Returns the cosine of the angle between a and b; 1 if both are zero everywhere.
  double cosine() const;
  // Returns how many pairs are not compared, because one of them is no number, and the other is
  // another.
  int64_t not_numbers() const { return not_numbers_; }
  // Return the number of answers, and of those whose best score has the same place in a and b; 0 if
  // the last dimension has one element.
  int64_t answers() const { return answers_; }
  int64_t equal_best() const { return equal_best_; }

 private:
  void add_pair(double a, double b, double least);
  void add_answers(std::span<const double> a, std::span<const double> b, int64_t last);

  int64_t elements_ = 0, not_numbers_ = 0, answers_ = 0, equal_best_ = 0;
  double max_absolute_ = 0, max_relative_ = 0;
  double squares_a_ = 0, squares_b_ = 0, products_ = 0, squares_difference_ = 0;
};

}  // namespace xsp::divergence

#endif  // XSP_DESK_DIVERGENCE_DIFFERENCE_H_

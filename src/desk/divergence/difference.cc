#include "desk/divergence/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace xsp::divergence {

void Difference::add(std::span<const double> a, std::span<const double> b, int64_t last) {
  constexpr double kNoise = 1e-3;
  double largest = 0;
  for (const double value : a) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  for (size_t i = 0; i < a.size(); ++i) add_pair(a[i], b[i], kNoise * largest);
  if (last > 1) add_answers(a, b, last);
}

void Difference::add_pair(double a, double b, double least) {
  ++elements_;
  if (!std::isfinite(a) || !std::isfinite(b)) {
    if (!(a == b || (std::isnan(a) && std::isnan(b)))) ++not_numbers_;
    return;
  }
  const double difference = std::fabs(a - b);
  max_absolute_ = std::max(max_absolute_, difference);
  if (a != 0 && std::fabs(a) >= least) {
    max_relative_ = std::max(max_relative_, difference / std::fabs(a));
  }
  squares_a_ += a * a;
  squares_b_ += b * b;
  products_ += a * b;
  squares_difference_ += difference * difference;
}

void Difference::add_answers(std::span<const double> a, std::span<const double> b, int64_t last) {
  const auto best = [last](std::span<const double> scores, size_t begin) {
    const auto row = scores.subspan(begin, static_cast<size_t>(last));
    return std::max_element(row.begin(), row.end()) - row.begin();
  };
  for (size_t begin = 0; begin + static_cast<size_t>(last) <= a.size();
       begin += static_cast<size_t>(last)) {
    ++answers_;
    if (best(a, begin) == best(b, begin)) ++equal_best_;
  }
}

double Difference::rms_relative() const {
  if (squares_difference_ == 0) return 0;
  if (squares_a_ == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(squares_difference_ / squares_a_);
}

double Difference::cosine() const {
  if (squares_difference_ == 0) return 1;
  const double lengths = std::sqrt(squares_a_) * std::sqrt(squares_b_);
  return lengths == 0 ? 0 : products_ / lengths;
}

}  // namespace xsp::divergence

#include "desk/scenario/max_rate.h"

#include <algorithm>
#include <cmath>

namespace xsp::scenario {
namespace {

constexpr double kWidth = 1.01;        // the ends of a range that is narrow enough
constexpr double kAround = 1.25;       // the range of a repetition, about the first result
constexpr double kLeast = 1.0 / 1024;  // of the capacity: no lower rate is tried
constexpr int kRepetitions = 5;

class Search {
 public:
  Search(double capacity, const ProbeRate& probe) : capacity_(capacity), probe_(probe) {}

  // Returns the border between `low` and `high`, or beyond them where it is not in between.
  Result<double> border(double low, double high, uint64_t seed) {
    for (;;) {
      XSP_TRY(const bool is_within, try_rate(low, seed));
      if (is_within) break;
      high = low;
      low /= 2;
      if (low < capacity_ * kLeast) {
        return usage("--bound: missed even at " + std::to_string(high) +
                     " requests/s: the model alone takes longer: allow more");
      }
    }
    for (;;) {
      XSP_TRY(const bool is_within, try_rate(high, seed));
      if (!is_within) break;
      low = high;
      high *= kAround;
      if (low > 2 * capacity_) return low;  // the bound never binds
    }
    while (high > low * kWidth) {
      const double middle = std::sqrt(low * high);
      XSP_TRY(const bool is_within, try_rate(middle, seed));
      (is_within ? low : high) = middle;
    }
    return low;
  }

  std::vector<Probe> take_probes() { return std::move(probes_); }

 private:
  Result<bool> try_rate(double rate, uint64_t seed) {
    XSP_TRY(const Probe probe, probe_(rate, seed));
    probes_.push_back(probe);
    return probe.is_within;
  }

  const double capacity_;
  const ProbeRate& probe_;
  std::vector<Probe> probes_;
};

}  // namespace

Result<MaxRate> find_max_rate(double capacity, uint64_t seed, const ProbeRate& probe) {
  Search search(capacity, probe);
  MaxRate result;
  std::vector<double> borders;
  double first = 0;
  for (int i = 0; i <= kRepetitions && !result.interrupted; ++i) {
    const auto border =
        i == 0 ? search.border(capacity / 2, capacity * kAround, seed)
               : search.border(first / kAround, first * kAround, seed + static_cast<uint64_t>(i));
    if (!border.ok()) {
      if (border.error().code != Code::kInterrupted) return border.error();
      result.interrupted = border.error();
      break;
    }
    ++result.searches;
    if (i == 0) first = *border;
    if (i > 0) borders.push_back(*border);
  }
  result.probes = search.take_probes();
  if (result.interrupted && borders.empty()) {
    result.rate = first;
    for (const Probe& one : result.probes) {
      if (first == 0 && one.is_within) result.rate = std::max(result.rate, one.rate);
    }
    return result;
  }
  const auto count = static_cast<double>(borders.size());
  for (const double border : borders) result.rate += border / count;
  if (result.interrupted) return result;
  double squares = 0;
  for (const double border : borders) squares += (border - result.rate) * (border - result.rate);
  // Each border is known to 1 % only.
  const double half = statistics::student_t(kRepetitions - 1) *
                          std::sqrt(squares / (kRepetitions * (kRepetitions - 1))) +
                      result.rate * (kWidth - 1);
  result.interval = {result.rate - half, result.rate + half};
  return result;
}

}  // namespace xsp::scenario

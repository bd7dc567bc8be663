#include "desk/scenario/latencies.h"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace xsp::scenario {
namespace {

constexpr size_t kParts = 20;
constexpr size_t kOfPartMin = 5;  // values in a part

// Returns the first value of a part.
size_t first_of(size_t part, size_t count) { return part * count / kParts; }

// Returns half the width of the mean's interval.
double half_width(std::span<const double> values, double mean) {
  double squares = 0;
  for (size_t part = 0; part < kParts; ++part) {
    const size_t begin = first_of(part, values.size()), end = first_of(part + 1, values.size());
    double residual = 0;
    for (size_t i = begin; i < end; ++i) residual += values[i] - mean;
    squares += residual * residual;
  }
  const double count = static_cast<double>(values.size());
  return statistics::student_t(kParts - 1) * std::sqrt(squares * kParts / (kParts - 1)) / count;
}

size_t rank_of(double share, size_t count) {
  const double rank = std::ceil(share * static_cast<double>(count) - 1e-9);
  return static_cast<size_t>(std::clamp(rank, 1.0, static_cast<double>(count))) - 1;
}

}  // namespace

Result<std::vector<Answer>> read_answers(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Answer> answers;
  Answer a;
  while (file >> a.id >> a.batch >> a.position >> a.batch_size >> a.arrival_ns >> a.free_ns >>
         a.formed_ns >> a.ready_ns >> a.computed_ns >> a.done_ns >> a.instance) {
    answers.push_back(a);
  }
  if (file.eof()) return answers;
  return failed(path.string() + ": not a file of answers: rebuild xsp and xsp-worker together");
}

Percentile percentile_of(std::span<const double> values, double share) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  Percentile percentile;
  percentile.value = sorted[rank_of(share, sorted.size())];
  if (values.size() < kParts * kOfPartMin) return percentile;
  std::vector<double> is_below(values.size());
  double below = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    is_below[i] = values[i] <= percentile.value ? 1 : 0;
    below += is_below[i];
  }
  const double half = half_width(is_below, below / static_cast<double>(values.size()));
  // A percentile so close to the end that its interval would leave the values has no upper end.
  if (share + half >= 1 || half == 0) return percentile;
  percentile.interval = {sorted[rank_of(std::max(share - half, 0.0), sorted.size())],
                         sorted[rank_of(share + half, sorted.size())]};
  return percentile;
}

Percentile mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  Percentile mean;
  mean.value = sum / static_cast<double>(values.size());
  if (values.size() < kParts * kOfPartMin) return mean;
  const double half = half_width(values, mean.value);
  mean.interval = {std::max(0.0, mean.value - half), mean.value + half};
  return mean;
}

}  // namespace xsp::scenario

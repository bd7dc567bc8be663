#include "metrics/shared/ratio.h"

#include "desk/statistics/intervals.h"

namespace xsp::metrics {

Result<Score> ratio(const std::vector<Part>& parts, uint64_t seed, const std::string& what_lacks) {
  const auto quotient = [&parts](std::span<const uint32_t> weights) -> std::optional<double> {
    double numerator = 0;
    double denominator = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      numerator += weights[i] * parts[i].numerator;
      denominator += weights[i] * parts[i].denominator;
    }
    if (denominator == 0) return std::nullopt;
    return numerator / denominator;
  };
  const std::optional<double> value = quotient(std::vector<uint32_t>(parts.size(), 1));
  if (!value) return failed(what_lacks);
  return Score{*value, statistics::bootstrap(parts.size(), seed, quotient)};
}

std::string item_text(size_t index) { return "item " + std::to_string(index + 1) + ": "; }

}  // namespace xsp::metrics

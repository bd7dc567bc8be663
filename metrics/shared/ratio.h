// Many metrics are a sum over the items divided by another one.
#ifndef XSP_METRICS_SHARED_RATIO_H_
#define XSP_METRICS_SHARED_RATIO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/shared/metric.h"

namespace xsp::metrics {

inline constexpr const char* kWilson = "Wilson's score interval (1927)";
inline constexpr const char* kBootstrap =
    "percentile bootstrap over the items, 1000 draws (Efron 1979)";

struct Part {
  double numerator = 0;
  double denominator = 0;
};

// Returns the sum of the numerators over that of the denominators. Fails, saying `what_lacks`, if
// the latter is 0.
Result<Score> ratio(const std::vector<Part>& parts, uint64_t seed, const std::string& what_lacks);

// Returns "item N: ", where N counts from 1.
std::string item_text(size_t index);

}  // namespace xsp::metrics

#endif  // XSP_METRICS_SHARED_RATIO_H_

#include "formats/onnx/weights.h"

#include <cmath>
#include <cstddef>

namespace xsp::formats {
namespace {

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio

// SplitMix64's finaliser: a bijection that leaves no visible pattern in a counter.
inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Returns 24 random bits as an odd number of (-2^24, 2^24), plus an even one: never zero.
inline float value(uint32_t bits, int32_t middle, float step) {
  const int32_t odd = static_cast<int32_t>(bits >> 8) * 2 + 1 - (1 << 24);
  return static_cast<float>(odd + middle) * step;
}

}  // namespace

Distribution with_variance(double variance) { return {0, std::sqrt(3 * variance)}; }

uint64_t tensor_seed(uint64_t model_seed, std::string_view tensor_name) {
  uint64_t hash = mix(model_seed + kGamma);
  for (const char c : tensor_name) hash = mix(hash ^ static_cast<unsigned char>(c)) + kGamma;
  return hash;
}

void fill_weights(const Distribution& distribution, uint64_t seed, uint64_t first, size_t count,
                  float* out) {
  const double step = distribution.half_width / (1 << 24);
  const float scale = static_cast<float>(step);
  const int32_t middle = 2 * static_cast<int32_t>(std::lround(distribution.middle / step / 2));
  uint64_t state = seed + (first / 2) * kGamma;
  size_t i = 0;
  for (; i + 1 < count; i += 2) {
    state += kGamma;
    const uint64_t bits = mix(state);
    out[i] = value(static_cast<uint32_t>(bits), middle, scale);
    out[i + 1] = value(static_cast<uint32_t>(bits >> 32), middle, scale);
  }
  if (i < count) out[i] = value(static_cast<uint32_t>(mix(state + kGamma)), middle, scale);
}

}  // namespace xsp::formats

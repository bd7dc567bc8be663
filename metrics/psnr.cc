// The peak signal-to-noise ratio of images whose samples lie between 0 and 255, as scikit-image's
// peak_signal_noise_ratio with data_range=255; the mean over the images. An image that equals its
// reference has an infinite one.
#include <cmath>
#include <limits>

#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

constexpr double kPeak = 255;

Result<Score> psnr(std::span<const Pair> pairs, uint64_t seed) {
  std::vector<Part> parts;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& predicted = pairs[i].predicted.values;
    const auto& right = pairs[i].right.values;
    if (predicted.size() != right.size() || right.empty()) {
      return failed(item_text(i) + "has " + std::to_string(predicted.size()) + " samples, but " +
                    std::to_string(right.size()) + " right ones");
    }
    double squares = 0;
    for (size_t j = 0; j < right.size(); ++j) {
      squares += (predicted[j] - right[j]) * (predicted[j] - right[j]);
    }
    const double error = squares / static_cast<double>(right.size());
    if (error == 0) return Score{std::numeric_limits<double>::infinity(), std::nullopt};
    parts.push_back({10 * std::log10(kPeak * kPeak / error), 1});
  }
  return ratio(parts, seed, "there are no items");
}

}  // namespace

std::vector<Metric> psnr_metrics() {
  return {{"psnr",
           "PSNR",
           "The peak signal-to-noise ratio at a peak of 255, the mean over the images.",
           kBootstrap,
           "dB",
           {"super-resolution", "image-restoration"},
           psnr}};
}

}  // namespace xsp::metrics

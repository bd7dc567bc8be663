// F1 over the cells of frames (of a piano roll, or of speech and silence): a cell is true from 0.5
// on. It is scikit-learn's f1_score over all cells of all items.
#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

Result<Score> frame_f1(std::span<const Pair> pairs, uint64_t seed) {
  std::vector<Part> parts;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& predicted = pairs[i].predicted.values;
    const auto& right = pairs[i].right.values;
    if (!predicted.empty() && predicted.size() != right.size()) {
      return failed(item_text(i) + "has " + std::to_string(predicted.size()) +
                    " cells of frames, but " + std::to_string(right.size()) + " right ones");
    }
    Part part;
    for (size_t j = 0; j < right.size(); ++j) {
      const bool is_named = !predicted.empty() && predicted[j] >= 0.5;
      const bool is_right = right[j] >= 0.5;
      part.numerator += is_named && is_right ? 2 : 0;
      part.denominator += is_named + is_right;
    }
    parts.push_back(part);
  }
  return ratio(parts, seed, "no frame is true: there is no F1");
}

}  // namespace

std::vector<Metric> frame_f1_metrics() {
  return {{"frame_f1",
           "F1 of frames",
           "The harmonic mean of precision and recall over the cells of all frames.",
           kBootstrap,
           "",
           {"transcription", "voice-activity"},
           frame_f1}};
}

}  // namespace xsp::metrics

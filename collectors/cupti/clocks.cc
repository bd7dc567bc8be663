#include "collectors/cupti/clocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "xsp/xsp.h"

namespace xsp::cupti {
namespace {

constexpr size_t kReadingsMax = 4096;
// The reading with the shortest time between its two neighbours is the most accurate.
constexpr int kTries = 8;

}  // namespace

void Clocks::add(uint64_t cupti_ns, int64_t xsp_ns) {
  if (!readings_.empty() && cupti_ns <= readings_.back().cupti_ns) return;
  if (readings_.size() == kReadingsMax) {
    for (size_t i = 0; i < kReadingsMax / 2; ++i) readings_[i] = readings_[2 * i];
    readings_.resize(kReadingsMax / 2);
  }
  readings_.push_back({cupti_ns, xsp_ns - static_cast<int64_t>(cupti_ns)});
}

bool Clocks::sample(const Functions& functions) {
  int64_t best_ns = std::numeric_limits<int64_t>::max();
  uint64_t best_cupti_ns = 0;
  int64_t best_xsp_ns = 0;
  for (int i = 0; i < kTries; ++i) {
    uint64_t cupti_ns = 0;
    const int64_t before_ns = xsp_now_ns();
    if (functions.cuptiGetTimestamp(&cupti_ns) != CUPTI_SUCCESS) return false;
    const int64_t after_ns = xsp_now_ns();
    if (after_ns - before_ns >= best_ns) continue;
    best_ns = after_ns - before_ns;
    best_cupti_ns = cupti_ns;
    best_xsp_ns = before_ns + best_ns / 2;
  }
  add(best_cupti_ns, best_xsp_ns);
  return true;
}

int64_t Clocks::to_xsp(uint64_t cupti_ns) const {
  const auto own = static_cast<int64_t>(cupti_ns);
  if (readings_.empty()) return own;
  const auto after = std::upper_bound(
      readings_.begin(), readings_.end(), cupti_ns,
      [](uint64_t time, const Reading& reading) { return time < reading.cupti_ns; });
  if (after == readings_.begin()) return own + after->offset_ns;
  const Reading& before = *(after - 1);
  if (after == readings_.end()) return own + before.offset_ns;
  const double share = static_cast<double>(cupti_ns - before.cupti_ns) /
                       static_cast<double>(after->cupti_ns - before.cupti_ns);
  const double drift_ns = static_cast<double>(after->offset_ns - before.offset_ns);
  return own + before.offset_ns + std::llround(drift_ns * share);
}

}  // namespace xsp::cupti

// AnchorTracker decides which samples of the clocks belong in the trace, and detects a clock that
// jumped.
#ifndef XSP_PROCESS_RECORD_ANCHORS_H_
#define XSP_PROCESS_RECORD_ANCHORS_H_

#include <cstdint>

#include "shared/base/clock.h"

namespace xsp::process {

class AnchorTracker {
 public:
  struct Verdict {
    bool is_due;   // an anchor should be written into the stream now
    bool is_jump;  // the clocks disagree about the time since the latest sample
  };

  void begin(const Anchor& first, uint64_t ticks_per_s) {
    written_ = latest_ = first;
    ticks_per_ns_ = static_cast<double>(ticks_per_s) * 1e-9;
  }
  const Anchor& latest() const { return latest_; }

  Verdict add(const Anchor& now) {
    const double elapsed_ns = static_cast<double>(now.monotonic_ns - latest_.monotonic_ns);
    const double ticks = static_cast<double>(static_cast<int64_t>(now.ticks - latest_.ticks));
    const double real_ns = static_cast<double>(now.realtime_ns - latest_.realtime_ns);
    // Between two samples the rate may be steered by 500 ppm; it was measured within a millisecond.
    const double tolerance_ns = kToleranceNs + elapsed_ns * 2e-3;
    const bool is_jump = distance(ticks / ticks_per_ns_, elapsed_ns) > tolerance_ns ||
                         distance(real_ns, elapsed_ns) > tolerance_ns;
    latest_ = now;
    const bool is_due = is_jump || now.monotonic_ns - written_.monotonic_ns >= kPeriodNs;
    if (is_due) written_ = now;
    return {is_due, is_jump};
  }

 private:
  static constexpr int64_t kPeriodNs = 1'000'000'000;
  static constexpr double kToleranceNs = 1e6;

  static double distance(double a, double b) { return a < b ? b - a : a - b; }

  Anchor written_;
  Anchor latest_;
  double ticks_per_ns_ = 1;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_RECORD_ANCHORS_H_

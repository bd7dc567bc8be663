#include "capture/attach/blocks.h"

namespace xsp::capture {
namespace {

uint64_t clamp(uint64_t value, uint64_t low, uint64_t high) {
  return value < low ? low : value > high ? high : value;
}

}  // namespace

void Blocks::begin(uint32_t count, const uint32_t* sets) {
  *this = {};
  count_ = count < kSetMax ? count : kSetMax;
  for (uint32_t i = 0; i < count_; ++i) sets_[i] = sets[i];
}

void Blocks::restart() {
  has_first_ = false;
  block_steps_ = 0;
  set_ = 0;
  shortest_ns_ = INT64_MAX;
}

void Blocks::add_step(uint64_t number, int64_t now_ns) {
  if (count_ < 2) return;
  if (!has_first_) {
    has_first_ = true;
    first_ = number;
    first_ns_ = last_ns_ = now_ns;
    return;
  }
  if (block_steps_ == 0) {
    const int64_t step_ns = now_ns - last_ns_;
    last_ns_ = now_ns;
    if (step_ns < shortest_ns_) shortest_ns_ = step_ns;
    const uint64_t steps = number - first_;
    const bool is_warm =
        steps >= kWarmStepsMin && (steps >= kWarmStepsMax || now_ns - first_ns_ >= kWarmNs);
    if (!is_warm) return;
    const int64_t one_ns = shortest_ns_ > 0 ? shortest_ns_ : 1;
    block_steps_ = clamp(static_cast<uint64_t>(kBlockNs / one_ns), kBlockStepsMin, kBlockStepsMax);
  } else if (number - block_first_ < block_steps_) {
    return;
  }
  block_first_ = number;
  set_ = (set_ + 1) % count_;
  ++number_;
}

}  // namespace xsp::capture

#include "process/watch/blocks.h"

namespace xsp::process {
namespace {

int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

}  // namespace

void Blocks::begin(uint32_t count, const uint32_t* sets, uint32_t one_in) {
  *this = {};
  count_ = count < kSetMax ? count : kSetMax;
  one_in_ = one_in;
  for (uint32_t i = 0; i < count_; ++i) sets_[i] = sets[i];
  restart();
}

void Blocks::restart() {
  has_first_ = false;
  block_steps_ = 0;
  levels_ = count_ > 0 ? sets_[count_ - 1] : 0;
}

uint64_t Blocks::block_steps() const {
  const bool is_deepest = count_ > 0 && levels_ == turns_[turn_count_ == 0 ? 0 : turn_count_ - 1];
  return one_in_ > 1 && !is_deepest ? block_steps_ * (one_in_ - 1) : block_steps_;
}

bool Blocks::is_warm(uint64_t number, int64_t now_ns) const {
  const uint64_t steps = number - first_;
  if (steps < kWarmStepsMin) return false;
  if (steps >= kWarmStepsMax || now_ns - first_ns_ >= kWarmNs) return true;
  int64_t shortest = latest_ns_[0];
  int64_t longest = latest_ns_[0];
  for (const int64_t one : latest_ns_) {
    shortest = one < shortest ? one : shortest;
    longest = one > longest ? one : longest;
  }
  return longest <= shortest + shortest / 4;
}

void Blocks::begin_block(uint64_t number, int64_t now_ns, uint32_t possible) {
  if (block_steps_ == 0 || turn_ + 1 >= turn_count_) {
    turn_count_ = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      const uint32_t levels = sets_[i] & possible;
      if (turn_count_ > 0 && turns_[turn_count_ - 1] == levels) continue;
      turns_[turn_count_++] = levels;
    }
    // All blocks of a round have the same number of steps, unless only one step in `one_in` is
    // recorded.
    const int64_t age_ns = now_ns - first_ns_;
    const int64_t steps = static_cast<int64_t>(number - first_);
    const int64_t step_ns = age_ns / steps > 0 ? age_ns / steps : 1;
    const int64_t latest = latest_ns_[(number - 1) % kAlikeSteps];
    const int64_t one_ns = latest > 0 && latest < step_ns ? latest : step_ns;
    const int64_t block_ns = clamp(age_ns / kBlocksOfAge, 0, kBlockNsMax);
    block_steps_ = static_cast<uint64_t>(
        clamp(block_ns / one_ns, static_cast<int64_t>(kBlockStepsMin), kBlockStepsMax));
    turn_ = 0;
    ++round_;
  } else {
    ++turn_;
  }
  block_first_ = number;
  levels_ = turns_[turn_];
}

void Blocks::add_step(uint64_t number, int64_t now_ns, uint32_t possible) {
  if (count_ < 2) return;
  if (!has_first_) {
    has_first_ = true;
    first_ = number;
    first_ns_ = last_ns_ = now_ns;
    return;
  }
  latest_ns_[(number - 1) % kAlikeSteps] = now_ns - last_ns_;
  last_ns_ = now_ns;
  const bool is_over =
      block_steps_ == 0 ? is_warm(number, now_ns) : number - block_first_ >= block_steps();
  if (is_over) begin_block(number, now_ns, possible);
}

}  // namespace xsp::process

// Blocks: which set of levels is recorded in which steps, where several take turns in one process.
//
//   warm-up: the deepest set | 0 1 2 | 0 1 2 | ...      set 0 is the shallowest, 0 1 2 is a round
//
// The first steps (compilation, autotuning, allocation) are run with everything on, so that a short
// program is recorded whole and every profiler has had its own first time. Once steps take about
// the same time, each set gets a block of consecutive steps in turn: what drifts meets all alike. A
// block has several steps, as the first after a switch is not like the others. Blocks grow with the
// program's age, up to the length at which the time of a switch is nothing: a program of few steps
// has rounds, too.
//
// To record one step in so many, there are two sets, of which the shallow one gets blocks that are
// longer by as much.
//
// Thread rule: one thread at a time. Nothing is allocated.
#ifndef XSP_CAPTURE_ATTACH_BLOCKS_H_
#define XSP_CAPTURE_ATTACH_BLOCKS_H_

#include <cstdint>

namespace xsp::capture {

class Blocks {
 public:
  static constexpr uint32_t kSetMax = 8;
  static constexpr int64_t kBlockNsMax = 200'000'000;
  static constexpr int64_t kBlocksOfAge = 24;  // a block is such a part of the time since the first
  static constexpr uint64_t kBlockStepsMin = 3;
  static constexpr uint64_t kBlockStepsMax = 500;
  // Warm-up is over when the latest steps differ by a quarter at most, or after so many, or so
  // long.
  static constexpr uint64_t kAlikeSteps = 4;
  static constexpr uint64_t kWarmStepsMin = 5;
  static constexpr uint64_t kWarmStepsMax = 10;
  static constexpr int64_t kWarmNs = 1'000'000'000;

  // `count` sets of levels, as bits, the shallowest first; with less than 2 there are no blocks.
  // The deepest is recorded in one step of `one_in`; 0: all sets get as many steps.
  void begin(uint32_t count, const uint32_t* sets, uint32_t one_in = 0);
  // The steps turned out to be others.
  void restart();
  // That step is about to begin, at that time; steps come in order. `possible`: bits of the levels
  // that somebody records now: sets that differ in others alone are one.
  void add_step(uint64_t number, int64_t now_ns, uint32_t possible);

  uint32_t levels() const { return levels_; }
  uint32_t round() const { return round_; }  // from 1; 0: warm-up
  uint64_t block_steps() const;              // of the block that is on

 private:
  bool is_warm(uint64_t number, int64_t now_ns) const;
  void begin_block(uint64_t number, int64_t now_ns, uint32_t possible);

  uint32_t count_ = 0;
  uint32_t one_in_ = 0;
  uint32_t sets_[kSetMax] = {};
  uint32_t levels_ = 0;
  uint32_t turn_count_ = 0;  // sets of this round
  uint32_t turns_[kSetMax] = {};
  uint32_t turn_ = 0;
  uint32_t round_ = 0;
  uint64_t block_steps_ = 0;
  uint64_t block_first_ = 0;
  bool has_first_ = false;
  uint64_t first_ = 0;  // step
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t latest_ns_[kAlikeSteps] = {};  // lengths of the latest steps
};

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_BLOCKS_H_

// Blocks decide which set of levels is recorded in which steps, when several sets take turns in one
// process.
//
//   warm-up: the deepest set | 0 1 2 | 0 1 2 | ...      set 0 is the shallowest, 0 1 2 is a round
//
// The first steps (compilation, autotuning, allocation) run with all levels on, so that a short
// program is recorded completely and every profiler has had its own first use. Once steps take
// about the same time, each set in turn gets a block of consecutive steps, so that drift affects
// all sets alike. A block has several steps because the first step after a switch differs from the
// others. Blocks grow with the age of the program, until the time of a switch is negligible: so a
// program with few steps has rounds, too.
//
// To record one step in N, there are two sets, and the blocks of the shallow set are N - 1 times
// longer.
//
// One thread at a time may use an object. It allocates nothing.
#ifndef XSP_PROCESS_WATCH_BLOCKS_H_
#define XSP_PROCESS_WATCH_BLOCKS_H_

#include <cstdint>

namespace xsp::process {

class Blocks {
 public:
  static constexpr uint32_t kSetMax = 8;
  static constexpr int64_t kBlockNsMax = 200'000'000;
  static constexpr int64_t kBlocksOfAge = 24;  // a block takes 1/24 of the age so far
  static constexpr uint64_t kBlockStepsMin = 3;
  static constexpr uint64_t kBlockStepsMax = 500;
  // Warm-up ends when the latest kAlikeSteps steps differ by at most a quarter, or after
  // kWarmStepsMax steps, or after kWarmNs.
  static constexpr uint64_t kAlikeSteps = 4;
  static constexpr uint64_t kWarmStepsMin = 5;
  static constexpr uint64_t kWarmStepsMax = 10;
  static constexpr int64_t kWarmNs = 1'000'000'000;

  // `sets` holds `count` sets of levels, as bits, the shallowest first; there are no blocks if
  // `count` is below 2. The deepest set is recorded in one step of `one_in`; 0: all sets get the
  // same number of steps.
  void begin(uint32_t count, const uint32_t* sets, uint32_t one_in = 0);
  // Starts again: steps are now of another kind.
  void restart();
  // Notes that step `number` is about to begin at time `now_ns`; steps come in order. `possible`
  // has the bits of the levels that some source records now: sets that differ only in other levels
  // count as one.
  void add_step(uint64_t number, int64_t now_ns, uint32_t possible);

  uint32_t levels() const { return levels_; }
  uint32_t round() const { return round_; }  // counts from 1; 0: warm-up
  uint64_t block_steps() const;              // length of the current block

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

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_BLOCKS_H_

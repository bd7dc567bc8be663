// Blocks: which set of levels is recorded in which steps, where several take turns in one process.
//
//   warm-up: set 0 | 1 | 2 | 0 | 1 | 2 | 0 | ...      set 0 is the shallowest
//
// The first steps (compilation, autotuning, allocation) are run with the shallowest set. Then every
// set gets a block of consecutive steps in turn, so that what drifts meets all alike. A block is
// long enough to be timed, and has several steps, as the first after a switch is not like the
// others.
//
// Thread rule: one thread at a time. Nothing is allocated.
#ifndef XSP_CAPTURE_ATTACH_BLOCKS_H_
#define XSP_CAPTURE_ATTACH_BLOCKS_H_

#include <cstdint>

namespace xsp::capture {

class Blocks {
 public:
  static constexpr uint32_t kSetMax = 8;
  static constexpr int64_t kBlockNs = 200'000'000;
  static constexpr uint64_t kBlockStepsMin = 3;
  static constexpr uint64_t kBlockStepsMax = 500;
  static constexpr uint64_t kWarmStepsMin = 5;
  static constexpr uint64_t kWarmStepsMax = 500;
  static constexpr int64_t kWarmNs = 1'000'000'000;

  // `count` sets of levels, as bits; with less than 2 there are no blocks, and levels() is set 0.
  void begin(uint32_t count, const uint32_t* sets);
  // The steps turned out to be others.
  void restart();
  // That step is about to begin, at that time; steps come in order.
  void add_step(uint64_t number, int64_t now_ns);

  uint32_t levels() const { return sets_[set_]; }
  uint32_t number() const { return number_; }            // of blocks begun
  uint64_t block_steps() const { return block_steps_; }  // 0: warm-up goes on

 private:
  uint32_t count_ = 0;
  uint32_t sets_[kSetMax] = {};
  uint32_t set_ = 0;
  uint32_t number_ = 0;
  uint64_t block_steps_ = 0;
  uint64_t block_first_ = 0;
  bool has_first_ = false;
  uint64_t first_ = 0;  // step
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t shortest_ns_ = INT64_MAX;  // step of the warm-up
};

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_BLOCKS_H_

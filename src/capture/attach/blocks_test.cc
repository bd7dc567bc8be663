#include "capture/attach/blocks.h"

#include <gtest/gtest.h>

#include <vector>

namespace xsp::capture {
namespace {

constexpr int64_t kMs = 1'000'000;

// The levels in which each of so many steps of that length runs.
std::vector<uint32_t> levels_of(Blocks* blocks, int steps, int64_t step_ns) {
  std::vector<uint32_t> levels;
  for (int i = 0; i < steps; ++i) {
    blocks->add_step(static_cast<uint64_t>(i), i * step_ns);
    levels.push_back(blocks->levels());
  }
  return levels;
}

TEST(Blocks, SetsTakeTurnsOnceTheProgramIsWarm) {
  const uint32_t sets[] = {0, 4, 12};
  Blocks blocks;
  blocks.begin(3, sets);
  const std::vector<uint32_t> levels = levels_of(&blocks, 140, 50 * kMs);
  // A second of 50 ms each is warm-up; 200 ms are a block of 4.
  EXPECT_EQ(blocks.block_steps(), 4u);
  for (int i = 0; i < 140; ++i) {
    const int block = (i - 20) / 4;
    const uint32_t wanted = i < 20 ? 0 : sets[(block + 1) % 3];
    EXPECT_EQ(levels[static_cast<size_t>(i)], wanted) << i;
  }
  EXPECT_EQ(blocks.number(), 30u);
}

TEST(Blocks, ABlockHasSeveralStepsHoweverLongTheyAre) {
  const uint32_t sets[] = {0, 4};
  Blocks blocks;
  blocks.begin(2, sets);
  const std::vector<uint32_t> levels = levels_of(&blocks, 14, 2000 * kMs);
  EXPECT_EQ(blocks.block_steps(), Blocks::kBlockStepsMin);
  const std::vector<uint32_t> wanted = {0, 0, 0, 0, 0, 4, 4, 4, 0, 0, 0, 4, 4, 4};
  EXPECT_EQ(levels, wanted);
}

TEST(Blocks, AndNotTooManyHoweverShort) {
  const uint32_t sets[] = {0, 4};
  Blocks blocks;
  blocks.begin(2, sets);
  levels_of(&blocks, 1000, 1000);
  EXPECT_EQ(blocks.block_steps(), Blocks::kBlockStepsMax);
}

TEST(Blocks, OneSetTakesNoTurns) {
  const uint32_t sets[] = {12};
  Blocks blocks;
  blocks.begin(1, sets);
  for (const uint32_t levels : levels_of(&blocks, 100, 50 * kMs)) EXPECT_EQ(levels, 12u);
}

TEST(Blocks, OtherStepsWarmUpAnew) {
  const uint32_t sets[] = {0, 4};
  Blocks blocks;
  blocks.begin(2, sets);
  levels_of(&blocks, 31, 50 * kMs);
  ASSERT_NE(blocks.block_steps(), 0u);
  blocks.restart();
  EXPECT_EQ(blocks.levels(), 0u);
  EXPECT_EQ(blocks.block_steps(), 0u);
}

}  // namespace
}  // namespace xsp::capture

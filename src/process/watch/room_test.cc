#include "process/watch/room.h"

#include <gtest/gtest.h>

#include "xsp/xsp.h"

namespace xsp::process {
namespace {

constexpr uint32_t kApplication = XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION);
constexpr uint32_t kModel = XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
constexpr uint32_t kLayer = XSP_LEVEL_BIT(XSP_LEVEL_LAYER);
constexpr uint32_t kDeep = XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY) | XSP_LEVEL_BIT(XSP_LEVEL_API) |
                           XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);

TEST(Room, DeepLevelsGoFirst) {
  const auto given_up = [](uint64_t bytes) {
    return levels_without_room(bytes, 1600, kApplication | kModel | kLayer | kDeep, 0);
  };
  EXPECT_EQ(given_up(0), 0u);
  EXPECT_EQ(given_up(799), 0u);
  EXPECT_EQ(given_up(800), kDeep);
  EXPECT_EQ(given_up(1199), kDeep);
  EXPECT_EQ(given_up(1200), kDeep | kLayer);
  EXPECT_EQ(given_up(1400), kDeep | kLayer | kModel);
  EXPECT_EQ(given_up(1499), kDeep | kLayer | kModel);
  EXPECT_EQ(given_up(1500), kDeep | kLayer | kModel | kApplication);
}

TEST(Room, WhatNobodyRecordsFreesNone) {
  EXPECT_EQ(levels_without_room(800, 1600, kApplication | kModel | kLayer, 0), kLayer);
  EXPECT_EQ(levels_without_room(1200, 1600, kApplication | kModel | kLayer, 0), kLayer | kModel);
  // One of the deep levels is enough, and then they are all given up.
  EXPECT_EQ(levels_without_room(800, 1600, XSP_LEVEL_BIT(XSP_LEVEL_API) | kLayer, 0), kDeep);
}

TEST(Room, WithoutALimitNothingGoesAndWhatIsGoneStaysSo) {
  EXPECT_EQ(levels_without_room(UINT64_MAX, 0, ~0u, 0), 0u);
  EXPECT_EQ(levels_without_room(0, 1600, ~0u, kLayer), kLayer);
}

}  // namespace
}  // namespace xsp::process

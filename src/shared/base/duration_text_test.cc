#include "shared/base/duration_text.h"

#include <gtest/gtest.h>

namespace xsp {
namespace {

TEST(DurationText, HasFourDigitsInAUnitThatSuits) {
  EXPECT_EQ(duration_text(0), "0.000 ns");
  EXPECT_EQ(duration_text(676.94), "676.9 ns");
  EXPECT_EQ(duration_text(8496), "8.496 us");
  EXPECT_EQ(duration_text(67'651'236), "67.65 ms");
  EXPECT_EQ(duration_text(1.234e9), "1.234 s");
  EXPECT_EQ(duration_text(1.234e12), "1234 s");
}

TEST(DurationText, ChoosesTheUnitOfTheRoundedValue) {
  EXPECT_EQ(duration_text(9'999'600), "10.00 ms");
  EXPECT_EQ(duration_text(99'996'000), "100.0 ms");
  EXPECT_EQ(duration_text(999'960), "1.000 ms");
  EXPECT_EQ(duration_text(999'940), "999.9 us");
}

TEST(DurationText, WhatAUserGaveKeepsItsDigits) {
  EXPECT_EQ(given_duration_text(50e6), "50 ms");
  EXPECT_EQ(given_duration_text(1.5e6), "1.5 ms");
  EXPECT_EQ(given_duration_text(2e9), "2 s");
}

}  // namespace
}  // namespace xsp

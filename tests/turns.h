// Repeats what a busy machine may spoil.
#ifndef XSP_TESTS_TURNS_H_
#define XSP_TESTS_TURNS_H_

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <iostream>

namespace xsp {

// Runs a measurement, and what is expected of its times, until a turn has no failure, at most five
// times. Other programs delay single turns, while a defect fails in each of them. The failures of
// the last turn are the test's; those before it are printed. What does not depend on time is
// expected outside.
template <typename Turn>
void in_turns(const Turn& turn) {
  constexpr int kTurnsMax = 5;
  for (int number = 1; number <= kTurnsMax; ++number) {
    testing::TestPartResultArray results;
    {
      const testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      turn();
    }
    bool has_failed = false;
    for (int i = 0; i < results.size(); ++i) {
      const testing::TestPartResult& result = results.GetTestPartResult(i);
      if (!result.failed()) continue;
      has_failed = true;
      if (number == kTurnsMax) {
        ADD_FAILURE_AT(result.file_name(), result.line_number()) << result.message();
      } else {
        std::cerr << "turn " << number << " of " << kTurnsMax << ": " << result;
      }
    }
    if (!has_failed) return;
  }
}

}  // namespace xsp

#endif  // XSP_TESTS_TURNS_H_

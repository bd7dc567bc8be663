#include "desk/correlate/windowed_source.h"

#include <gtest/gtest.h>

#include "desk/correlate/testing.h"
#include "xsp/xsp.h"

namespace xsp::correlate {
namespace {

std::vector<int64_t> starts_in(const Source& source) {
  std::vector<int64_t> starts;
  trace::SpanBatch batch;
  for (size_t stream = 0; stream < source.streams().size(); ++stream) {
    for (size_t chunk = 0; chunk < source.streams()[stream].chunk_count; ++chunk) {
      EXPECT_TRUE(source.read(stream, chunk, &batch).ok());
      starts.insert(starts.end(), batch.start_ns.begin(), batch.start_ns.end());
    }
  }
  return starts;
}

TEST(WindowedSource, KeepsWhatBeginsInItsWindows) {
  const TestTrace trace({{0, 5, 2}, {10, 15, 2}, {19, 25, 2}, {20, 26, 2}, {30, 35, 2}}, {false},
                        2);
  const WindowedSource some(trace, {{5, 20}, {30, 31}}, ~0u);
  EXPECT_EQ(starts_in(some), (std::vector<int64_t>{10, 19, 30}));
  std::vector<trace::BlockTimes> blocks;
  for (size_t chunk = 0; chunk < some.streams()[0].chunk_count; ++chunk) {
    ASSERT_TRUE(some.scan(0, chunk, 16, &blocks).ok());
  }
  uint32_t spans = 0;
  for (const trace::BlockTimes& block : blocks) spans += block.span_count;
  EXPECT_EQ(spans, 3u);
}

TEST(WindowedSource, LeavesOutLevelsOfOthersButNotTheApplications) {
  const TestTrace trace({{1, 2, 1}, {3, 4, 2}, {5, 6, 3}}, {false}, 8);
  EXPECT_EQ(starts_in(WindowedSource(trace, {{}}, XSP_LEVEL_BIT(XSP_LEVEL_MODEL))),
            (std::vector<int64_t>{1, 3}));
}

TEST(WindowedSource, WhatADeviceDidBelongsToTheWindowOfItsLaunch) {
  // Launches 1 and 2 are in the window, 3 is outside. All kernels run later; kernel 4 has no
  // launch.
  const TestTrace trace({{10, 11, 5, 1, 0, 1},
                         {15, 16, 5, 1, 0, 2},
                         {25, 26, 5, 1, 0, 3},
                         {12, 14, 6, 1, 1, 1, 1},
                         {30, 34, 6, 1, 1, 2, 1},
                         {35, 36, 6, 1, 1, 3, 1},
                         {18, 37, 6, 1, 1, 4, 1}},
                        {false, true}, 8);
  EXPECT_EQ(starts_in(WindowedSource(trace, {{5, 20}}, ~0u)),
            (std::vector<int64_t>{10, 15, 12, 30}));
  EXPECT_EQ(starts_in(WindowedSource(trace, {{20, 29}}, ~0u)), (std::vector<int64_t>{25, 35}));
}

TEST(WindowedSource, OpenSpansToo) {
  TestTrace trace({{0, 5, 2}}, {false}, 8);
  trace.add_open_span(2, 1, 3);
  trace.add_open_span(2, 1, 13);
  const WindowedSource some(trace, {{10, 20}}, ~0u);
  ASSERT_EQ(some.open_spans().size(), 1u);
  EXPECT_EQ(some.open_spans()[0].start_ns, 13);
  EXPECT_TRUE(starts_in(some).empty());
}

}  // namespace
}  // namespace xsp::correlate

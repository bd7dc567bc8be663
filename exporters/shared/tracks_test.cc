#include "exporters/shared/tracks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace xsp::exporters {
namespace {

Span span_at(int64_t start_ns, int64_t end_ns, int64_t thread = 7) {
  Span span;
  span.process = 4;
  span.thread = thread;
  span.start_ns = start_ns;
  span.duration_ns = end_ns - start_ns;
  return span;
}

Span on_stream(Span span, int64_t device, int64_t stream) {
  span.device = device;
  span.stream = stream;
  return span;
}

TEST(Tracks, SpansThatNestShareATrack) {
  Tracks tracks;
  EXPECT_EQ(*tracks.place(span_at(0, 100)), 0u);
  EXPECT_EQ(*tracks.place(span_at(0, 50)), 0u);
  EXPECT_EQ(*tracks.place(span_at(50, 50)), 0u);
  EXPECT_EQ(*tracks.place(span_at(50, 100)), 0u);
  EXPECT_EQ(*tracks.place(span_at(100, 120)), 0u);
}

TEST(Tracks, ASpanThatCrossesAnotherOneGetsAFurtherTrack) {
  Tracks tracks;
  EXPECT_EQ(*tracks.place(span_at(0, 100)), 0u);
  EXPECT_EQ(*tracks.place(span_at(50, 150)), 1u);
  EXPECT_EQ(*tracks.place(span_at(60, 160)), 2u);
  EXPECT_EQ(*tracks.place(span_at(100, 155)), 0u);
  ASSERT_EQ(tracks.all().size(), 3u);
  EXPECT_EQ(tracks.all()[0].title(), "thread 7");
  EXPECT_EQ(tracks.all()[2].title(), "thread 7 (3)");
}

TEST(Tracks, ThreadsStreamsAndProcessesAreApart) {
  Tracks tracks;
  EXPECT_EQ(*tracks.place(span_at(0, 10)), 0u);
  EXPECT_EQ(*tracks.place(span_at(0, 10, 8)), 1u);
  EXPECT_EQ(*tracks.place(on_stream(span_at(0, 10), 0, 1)), 2u);
  // The thread that launched it does not matter.
  EXPECT_EQ(*tracks.place(on_stream(span_at(10, 20, 8), 0, 1)), 2u);
  Span other = span_at(0, 10);
  other.process.reset();
  EXPECT_EQ(*tracks.place(other), 3u);
  EXPECT_EQ(tracks.all()[2].title(), "device 0 · stream 1");
  EXPECT_EQ(tracks.all()[3].process, 0);
}

// Whatever the spans are, each ends once, and on each track begins and ends match like brackets.
TEST(Tracks, EndsMatchBeginsOnEveryTrack) {
  std::mt19937 random(1);
  const auto below = [&](int limit) { return static_cast<int64_t>(random() % limit); };
  std::vector<Span> spans;
  for (int i = 0; i < 2000; ++i) {
    const int64_t start = below(500);
    spans.push_back(span_at(start, start + below(30), below(3)));
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  });
  std::map<size_t, std::vector<int64_t>> open;  // the ends that are due, innermost last
  size_t ended = 0;
  Tracks tracks([&](size_t track, int64_t end_ns) -> Status {
    EXPECT_FALSE(open[track].empty());
    EXPECT_EQ(open[track].back(), end_ns);
    open[track].pop_back();
    ++ended;
    return Ok{};
  });
  for (const Span& span : spans) {
    const auto track = tracks.place(span);
    ASSERT_TRUE(track.ok());
    auto& here = open[*track];
    if (!here.empty()) {
      EXPECT_GE(here.back(), span.end_ns());
      EXPECT_GT(here.back(), span.start_ns);
    }
    here.push_back(span.end_ns());
  }
  ASSERT_TRUE(tracks.finish().ok());
  EXPECT_EQ(ended, spans.size());
}

TEST(Tracks, AFailureOfTheReceiverIsReturned) {
  Tracks tracks([](size_t, int64_t) -> Status { return failed("full"); });
  ASSERT_TRUE(tracks.place(span_at(0, 10)).ok());
  ASSERT_TRUE(tracks.place(span_at(0, 1)).ok());
  EXPECT_FALSE(tracks.place(span_at(1, 2)).ok());
  EXPECT_FALSE(tracks.finish().ok());
}

}  // namespace
}  // namespace xsp::exporters

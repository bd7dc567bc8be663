#include "desk/correlate/correlate.h"

#include <gtest/gtest.h>

#include <map>

#include "desk/correlate/testing.h"
#include "xsp/xsp.h"

namespace xsp::correlate {
namespace {

TestSpan make(int64_t start, int64_t end, uint8_t level, size_t stream = 0, uint32_t thread = 1) {
  TestSpan span;
  span.start_ns = start;
  span.end_ns = end;
  span.level = level;
  span.stream = stream;
  span.thread = thread;
  return span;
}

struct Outcome {
  Facts facts;
  std::map<size_t, Span> by_index;  // by index in TestTrace::spans()
  std::vector<Span> in_order;
  std::vector<std::pair<uint64_t, int64_t>> values;

  uint64_t id(size_t index) const { return by_index.at(index).id; }
  uint64_t parent(size_t index) const { return by_index.at(index).parent_id; }
};

Outcome run(const TestTrace& trace, const Options& options = {}) {
  auto result = correlate(trace, options);
  EXPECT_TRUE(result.ok());
  Outcome outcome;
  if (!result.ok()) return outcome;
  outcome.facts = result->facts;
  for (const Span& span : result->spans) outcome.by_index.emplace(index_of(span), span);
  outcome.in_order = std::move(result->spans);
  outcome.values = std::move(result->values);
  return outcome;
}

TEST(Correlate, ChildrenFindTheInnermostSpanThatHoldsThem) {
  const Outcome out =
      run(TestTrace({make(10, 20, kLayer), make(12, 18, kLayer), make(0, 100, kModel),
                     make(30, 40, kLayer), make(200, 210, kLayer)},
                    {false}, 100));
  EXPECT_EQ(out.parent(1), out.id(0));
  EXPECT_EQ(out.parent(0), out.id(2));
  EXPECT_EQ(out.parent(2), 0u);
  EXPECT_EQ(out.parent(3), out.id(2));
  EXPECT_EQ(out.parent(4), 0u);
  EXPECT_EQ(out.facts.roots, 1u);
  EXPECT_EQ(out.facts.unattributed, 1u);
  EXPECT_EQ(out.by_index.at(1).depth, 1u);
  EXPECT_EQ(out.by_index.at(1).ordinal, 1);
  EXPECT_EQ(out.by_index.at(3).ordinal, 2);
  EXPECT_EQ(out.by_index.at(2).self_ns, 100 - 10 - 10);
  EXPECT_EQ(out.by_index.at(0).self_ns, 4);
}

// A call contains two models, one of which has a number of its own. Calls on two threads begin at
// the same time.
TEST(Correlate, WhatIsInACallHasTheCallsNumber) {
  std::vector<TestSpan> spans = {make(10, 20, kLayer),       make(5, 30, kModel),
                                 make(40, 50, kLayer),       make(35, 60, kModel),
                                 make(0, 100, kModel),       make(110, 120, kLayer),
                                 make(10, 40, kLayer, 1, 2), make(0, 100, kModel, 1, 2)};
  spans[3].iteration = 9;
  const CallNumbers calls({{0, 100, 1, 3}, {0, 100, 2, 4}});
  for (const size_t window : {size_t{0}, size_t{8}}) {
    Options options;
    options.window = window;
    if (window != 0) options.block_spans = 1;  // finds the calls in the first pass
    options.iteration_key = kIterationKey;
    options.calls = &calls;
    const Outcome out = run(TestTrace(spans, {false, false}, 100), options);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(out.by_index.at(i).iteration, 3) << i;
    EXPECT_EQ(out.by_index.at(5).iteration, kNoIteration);
    EXPECT_EQ(out.by_index.at(6).iteration, 4);
    EXPECT_EQ(out.by_index.at(7).iteration, 4);
    // Without calls, the spans' own numbers are used.
    options.calls = nullptr;
    const Outcome told = run(TestTrace(spans, {false, false}, 100), options);
    EXPECT_EQ(told.by_index.at(2).iteration, 9);
    EXPECT_EQ(told.by_index.at(0).iteration, kNoIteration);
  }
}

TEST(Correlate, LanesOfAThreadShareWhatIsAboveThem) {
  constexpr uint32_t kSecond = 1 + (1u << kLaneBits), kThird = 1 + (2u << kLaneBits);
  const Outcome out = run(
      TestTrace({make(0, 100, kModel), make(10, 60, kLayer), make(20, 40, kLayer, 1, kSecond),
                 make(50, 80, kLayer, 1, kSecond), make(55, 58, kLayer, 2, kThird),
                 make(56, 57, kLayer, 2, kThird), make(30, 40, kLayer, 2, 2 + (1u << kLaneBits))},
                {false, false, false}, 100));
  for (size_t layer = 1; layer <= 4; ++layer) EXPECT_EQ(out.parent(layer), out.id(0)) << layer;
  EXPECT_EQ(out.parent(5), out.id(4)) << "a lane is a thread of its own";
  EXPECT_EQ(out.parent(6), 0u) << "of another thread";
  EXPECT_EQ(out.facts.overlapping, 0u);
  EXPECT_EQ(out.facts.ambiguous, 0u);
  EXPECT_EQ(out.by_index.at(0).self_ns, 100 - 70) << "what both cover counts once";
}

TEST(Correlate, EqualEndPointsCountAsContained) {
  const Outcome out = run(TestTrace({make(0, 10, kLayer), make(0, 10, kModel), make(10, 20, kLayer),
                                     make(10, 10, kLayer), make(20, 20, kLayer)},
                                    {true}, 100));
  EXPECT_EQ(out.parent(0), out.id(1));
  EXPECT_EQ(out.parent(3), out.id(1)) << "a layer without duration, at the model's end";
  EXPECT_EQ(out.parent(2), 0u);
  EXPECT_EQ(out.parent(4), 0u)
      << "within a level, a span without duration at an end is a neighbour";
}

TEST(Correlate, AnotherProfilersClockMayDisagreeByTheTolerance) {
  Options options;
  options.tolerance_ns = 10;
  const Outcome out =
      run(TestTrace({make(100, 200, kModel, 0), make(95, 120, kLayer, 1), make(190, 207, kLayer, 1),
                     make(180, 215, kLayer, 1), make(60, 99, kLayer, 1)},
                    {false, true}, 100),
          options);
  EXPECT_EQ(out.parent(1), out.id(0)) << "begins 5 early";
  EXPECT_EQ(out.parent(2), out.id(0)) << "ends 7 late";
  EXPECT_EQ(out.parent(3), 0u) << "ends 15 late";
  EXPECT_EQ(out.parent(4), 0u) << "its middle is outside";
  EXPECT_EQ(out.facts.clipped, 2u);
  EXPECT_EQ(out.facts.clipped_max_ns, 7);
  EXPECT_EQ(out.facts.ambiguous, 1u);
  // The part of a child outside its parent does not count as the parent's time.
  EXPECT_EQ(out.by_index.at(0).self_ns, 100 - 20 - 10);
}

TEST(Correlate, SpansOfOneClockHaveNoTolerance) {
  const Outcome out =
      run(TestTrace({make(100, 200, kModel), make(190, 201, kLayer)}, {false}, 100));
  EXPECT_EQ(out.parent(1), 0u);
  EXPECT_EQ(out.facts.ambiguous, 1u);
}

TEST(Correlate, ThreadsAreApart) {
  const Outcome out =
      run(TestTrace({make(0, 100, kModel, 0, 1), make(10, 20, kLayer, 1, 2)}, {false, false}, 100));
  EXPECT_EQ(out.parent(1), 0u);
  EXPECT_EQ(out.facts.unattributed, 1u);
}

TEST(Correlate, AnExecutionBelongsToItsLaunch) {
  std::vector<TestSpan> spans = {make(10, 12, kApi),       make(14, 16, kApi),
                                 make(5, 20, kLayer),      make(0, 100, kModel),
                                 make(50, 60, kKernel, 1), make(30, 40, kKernel, 1),
                                 make(15, 15, kKernel, 1), make(70, 80, kKernel, 1)};
  spans[0].correlation_id = 7;
  spans[1].correlation_id = 8;
  const uint64_t ids[] = {7, 8, 8, 99};
  for (size_t i = 0; i < 4; ++i) {
    spans[4 + i].correlation_id = ids[i];
    spans[4 + i].device = 1;
  }
  const Outcome out = run(TestTrace(std::move(spans), {false, true}, 100));
  EXPECT_EQ(out.parent(4), out.id(0));
  EXPECT_EQ(out.parent(5), out.id(1));
  EXPECT_EQ(out.parent(6), out.id(1)) << "it ended before its launch did";
  EXPECT_EQ(out.by_index.at(4).layer_id, out.id(2));
  EXPECT_EQ(out.by_index.at(4).model_id, out.id(3));
  EXPECT_EQ(out.parent(7), out.id(3)) << "without a launch: what holds it";
  EXPECT_EQ(out.by_index.at(3).self_ns, 85) << "what a device does is not the host's time";
  EXPECT_EQ(out.facts.launches, 2u);
  EXPECT_EQ(out.facts.executions, 4u);
  EXPECT_EQ(out.facts.executions_unmatched, 1u);
  EXPECT_EQ(out.facts.launches_unmatched, 0u);
}

TEST(Correlate, ACallThatNamesADeviceRunsOnTheHost) {
  std::vector<TestSpan> spans = {make(5, 5, kApi), make(0, 10, kLayer), make(0, 20, kModel)};
  spans[0].device = 1;
  const Outcome out = run(TestTrace(std::move(spans), {false}, 100));
  EXPECT_EQ(out.parent(0), out.id(1));
  EXPECT_EQ(out.facts.executions, 0u);
  EXPECT_EQ(out.facts.executions_unmatched, 0u);
}

TEST(Correlate, AnExecutionFindsItsLaunchLongAfterItHasLeft) {
  std::vector<TestSpan> spans;
  for (int64_t i = 0; i < 3000; ++i) {
    spans.push_back(make(i * 10, i * 10 + 5, kApi));
    spans.back().correlation_id = static_cast<uint64_t>(i + 1);
  }
  spans.push_back(make(0, 40000, kModel));
  for (int64_t i = 0; i < 3000; ++i) {
    spans.push_back(make(50000 + i, 50001 + i, kKernel, 1));
    spans.back().correlation_id = static_cast<uint64_t>(i + 1);
    spans.back().device = 1;
  }
  Options options;
  options.window = 256;
  options.block_spans = 4;
  const Outcome out = run(TestTrace(std::move(spans), {false, true}, 100), options);
  for (size_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(out.parent(3001 + i), out.id(i));
    ASSERT_EQ(out.by_index.at(3001 + i).model_id, out.id(3000));
  }
  EXPECT_EQ(out.facts.launches_unmatched, 0u);
}

TEST(Correlate, AKernelOfAGraphBelongsToTheLayerThatRanOnItsStream) {
  std::vector<TestSpan> spans = {
      make(10, 12, kApi),       make(0, 100, kModel),     make(50, 60, kKernel, 1),
      make(62, 70, kKernel, 1), make(50, 70, kLayer, 1),  make(70, 80, kKernel, 1),
      make(70, 80, kLayer, 1),  make(55, 65, kKernel, 1), make(90, 95, kKernel, 1)};
  spans[0].correlation_id = 7;
  for (size_t i = 2; i < spans.size(); ++i) {
    spans[i].correlation_id = 7;
    spans[i].device = 1;
    spans[i].device_stream = i == 7 ? 2 : 1;
  }
  const Outcome out = run(TestTrace(std::move(spans), {false, true}, 100));
  EXPECT_EQ(out.parent(4), out.id(1)) << "a layer's parent is the model, not the launch";
  EXPECT_EQ(out.by_index.at(4).layer_id, out.id(4));
  EXPECT_EQ(out.by_index.at(6).ordinal, 1);
  EXPECT_EQ(out.parent(2), out.id(4));
  EXPECT_EQ(out.parent(3), out.id(4));
  EXPECT_EQ(out.by_index.at(3).layer_id, out.id(4));
  EXPECT_EQ(out.by_index.at(3).model_id, out.id(1));
  EXPECT_EQ(out.parent(5), out.id(6));
  EXPECT_EQ(out.parent(7), out.id(0)) << "on another stream: its launch";
  EXPECT_EQ(out.parent(8), out.id(0)) << "of no layer: its launch";
  EXPECT_EQ(out.by_index.at(1).self_ns, 98);
  EXPECT_EQ(out.facts.executions, 5u) << "layers are no executions";
  EXPECT_EQ(out.facts.executions_unmatched, 0u);
  EXPECT_EQ(out.facts.launches_unmatched, 0u);
}

TEST(Correlate, SpansThatNeverEndedLastUntilTheTraceDoes) {
  TestTrace trace({make(10, 20, kLayer), make(30, 40, kLayer)}, {false}, 1);
  trace.add_open_span(kModel, 1, 5);
  trace.add_open_span(kLayer, 1, 25);
  trace.set_last_ns(35);  // less than the end of the last span
  const Outcome out = run(trace);
  ASSERT_EQ(out.in_order.size(), 4u);
  const Span& layer = out.in_order[2];
  const Span& model = out.in_order[3];
  EXPECT_TRUE(layer.is_open);
  EXPECT_TRUE(model.is_open);
  EXPECT_EQ(model.end_ns, 40);
  EXPECT_EQ(layer.parent_id, model.id);
  EXPECT_EQ(out.in_order[0].parent_id, model.id);
  EXPECT_EQ(out.in_order[1].parent_id, layer.id);
  EXPECT_EQ(out.facts.open_spans, 2u);
}

TEST(Correlate, ADamagedChunkCostsItsSpansAlone) {
  std::vector<TestSpan> spans;
  for (int64_t i = 0; i < 100; ++i) spans.push_back(make(i * 10, i * 10 + 5, kLayer));
  spans.push_back(make(0, 1000, kModel));
  TestTrace trace(std::move(spans), {false}, 10);
  trace.damage(0, 3);
  const Outcome out = run(trace);
  EXPECT_EQ(out.facts.spans, 91u);
  EXPECT_EQ(out.facts.damaged_chunks, 1u);
  EXPECT_EQ(out.facts.unattributed, 0u);
}

TEST(Correlate, StreamsInAnyOrderAreSorted) {
  std::vector<TestSpan> spans;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t at = i * 7919 % 1000 * 100;
    spans.push_back(make(at, at + 90, kModel));
    spans.back().iteration = i * 7919 % 1000;
    spans.push_back(make(at + 10, at + 20, kLayer));
  }
  Options options;
  options.piece_spans = 64;
  options.iteration_key = kIterationKey;
  const Outcome out = run(TestTrace(std::move(spans), {true}, 16), options);
  ASSERT_EQ(out.in_order.size(), 2000u);
  for (size_t i = 0; i < out.in_order.size(); ++i) {
    const Span& span = out.in_order[i];
    ASSERT_EQ(span.iteration, static_cast<int64_t>(i / 2));
    ASSERT_EQ(span.level, i % 2 == 0 ? kLayer : kModel);
    ASSERT_EQ(span.parent_id, i % 2 == 0 ? out.in_order[i + 1].id : 0u);
  }
  EXPECT_EQ(out.values.size(), 1000u) << "values go with their spans";
}

TEST(Correlate, AFrameAroundMoreThanTheWindowKeepsItsChildren) {
  std::vector<TestSpan> spans;
  for (int64_t i = 0; i < 20000; ++i) {
    spans.push_back(make(i * 10 + 1, i * 10 + 5, kLayer));
    if (i % 4 == 3) spans.push_back(make(i * 10 - 30, i * 10 + 9, kLayer));
  }
  spans.push_back(make(0, 200000, kModel));
  spans.back().iteration = 42;
  Options options;
  options.window = 256;
  options.block_spans = 16;
  options.iteration_key = kIterationKey;
  const Outcome out = run(TestTrace(std::move(spans), {false}, 1000), options);
  const Span& frame = out.by_index.at(25000);
  int64_t self_ns = 0;
  for (const Span& span : out.in_order) {
    self_ns += span.self_ns;
    ASSERT_EQ(span.iteration, 42);
    ASSERT_EQ(span.model_id, frame.id);
    ASSERT_EQ(span.parent_id == frame.id, span.depth == 0 && span.level == kLayer);
  }
  EXPECT_EQ(self_ns, 200000) << "exclusive times sum to the root's duration";
  EXPECT_EQ(out.by_index.at(24999).ordinal, 24995);
}

TEST(Correlate, AnEmptyTraceHasNoSpans) {
  const Outcome out = run(TestTrace({}, {false, true}, 10));
  EXPECT_EQ(out.facts.spans, 0u);
  EXPECT_TRUE(out.in_order.empty());
}

}  // namespace
}  // namespace xsp::correlate

#include "desk/correlate/steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "desk/correlate/testing.h"
#include "shared/trace/testing.h"
#include "xsp/xsp.h"

namespace xsp::correlate {
namespace {

constexpr uint8_t kStepKey = 1;

void put_text(std::vector<uint8_t>* out, const std::string& text) {
  out->push_back(static_cast<uint8_t>(text.size()));  // a varint of one byte
  out->insert(out->end(), text.begin(), text.end());
}

// Makes a trace of one process: sites first, then spans, thread by thread.
class StepsTest : public testing::Test {
 protected:
  struct OneSpan {
    uint32_t site;
    int64_t start_ns;
    int64_t end_ns;
    int64_t iteration = -1;  // none
  };

  // Returns the new site's id. A site of steps has the attribute `step_of`; empty: none.
  uint32_t site(uint32_t level, const std::string& type, const std::string& step_of = "") {
    const uint8_t id = ++sites_;
    std::vector<uint8_t> entry = {static_cast<uint8_t>(trace::TableEntry::kSite), id,
                                  static_cast<uint8_t>(level)};
    put_text(&entry, "site");
    put_text(&entry, type);
    add_entry(entry);
    if (!step_of.empty()) {
      entry = {static_cast<uint8_t>(trace::TableEntry::kSiteAttribute), id};
      put_text(&entry, "step_of");
      put_text(&entry, step_of);
      add_entry(entry);
    }
    return id;
  }
  // Adds a chunk with spans of one thread, in the order of emission.
  void chunk(uint32_t thread, const std::vector<OneSpan>& spans) {
    trace::RingContents ring;
    for (const OneSpan& span : spans) {
      trace::Record record = {};
      record.start = static_cast<uint64_t>(span.start_ns);
      record.duration = static_cast<uint64_t>(span.end_ns - span.start_ns);
      record.site_id = span.site;
      record.bits = trace::Record::kGiven;
      if (span.iteration >= 0) {
        record.key = kStepKey;
        record.payload = static_cast<uint64_t>(span.iteration);
      }
      ring.add(record);
    }
    std::vector<uint8_t> memory(trace::SpanEncoder::kMemoryBytes);
    trace::SpanEncoder encoder(memory.data());
    encoder.begin(thread, thread, true);
    for (const uint64_t at : ring.groups()) ASSERT_TRUE(encoder.add(ring.slots(), at));
    std::vector<uint8_t> payload(kChunkPayloadBytesMax);
    payload.resize(encoder.finish(ordinal_[thread], 0, 0, payload.data()));
    ordinal_[thread] += spans.size();
    chunks_.push_back(std::move(payload));
  }
  TraceSteps find() {
    {
      trace::TestFile file(scratch_.path());
      std::vector<uint8_t> key = {static_cast<uint8_t>(trace::TableEntry::kKey), kStepKey};
      put_text(&key, "iteration");
      add_entry(key);
      file.append(trace::ChunkType::kTable, tables_);
      for (const auto& payload : chunks_) file.append(trace::ChunkType::kSpans, payload);
      file.complete();
    }
    const Result<trace::Reader> reader = trace::Reader::open(scratch_.path());
    EXPECT_TRUE(reader.ok()) << reader.error().text;
    return reader.ok() ? find_steps(*reader) : TraceSteps();
  }
  static std::vector<int64_t> starts(const std::vector<Step>& steps) {
    std::vector<int64_t> all;
    for (const Step& step : steps) all.push_back(step.start_ns);
    return all;
  }
  static std::vector<int64_t> iterations(const std::vector<ModelCall>& calls) {
    std::vector<int64_t> all;
    for (const ModelCall& call : calls) all.push_back(call.iteration);
    return all;
  }

 private:
  void add_entry(const std::vector<uint8_t>& entry) {
    tables_.push_back(static_cast<uint8_t>(entry.size()));
    tables_.insert(tables_.end(), entry.begin(), entry.end());
  }

  trace::ScratchFolder scratch_;
  uint8_t sites_ = 0;
  uint64_t ordinal_[8] = {};
  std::vector<uint8_t> tables_;
  std::vector<std::vector<uint8_t>> chunks_;
};

constexpr uint32_t kApplication = XSP_LEVEL_APPLICATION;

TEST_F(StepsTest, ATraceWithoutStepsHasNone) {
  const uint32_t process = site(kApplication, "process");
  chunk(1, {{process, 0, 100}});
  const TraceSteps found = find();
  EXPECT_EQ(found.kind, 0u);
  EXPECT_TRUE(found.steps.empty());
  EXPECT_TRUE(found.calls.empty());
  EXPECT_EQ(found.levels, XSP_LEVEL_BIT(kApplication));
}

TEST_F(StepsTest, TheStrongestKindIsTaken) {
  const uint32_t model = site(kModel, "Net");
  const uint32_t by_model = site(kApplication, "step", "model");
  const uint32_t by_optimizer = site(kApplication, "step", "optimizer");
  chunk(1, {{by_model, 0, 10}, {model, 0, 10, 0}, {by_optimizer, 0, 30}, {by_optimizer, 30, 60}});
  const TraceSteps of_optimizer = find();
  EXPECT_EQ(of_optimizer.kind, XSP_STEP_OPTIMIZER);
  EXPECT_EQ(starts(of_optimizer.steps), (std::vector<int64_t>{0, 30}));
  // The program's own marks count, although there are fewer and they come last.
  const uint32_t by_mark = site(kApplication, "step", "mark");
  chunk(1, {{by_mark, 5, 90}});
  const TraceSteps of_marks = find();
  EXPECT_EQ(of_marks.kind, XSP_STEP_MARK);
  EXPECT_EQ(starts(of_marks.steps), (std::vector<int64_t>{5}));
  EXPECT_EQ(of_marks.levels, XSP_LEVEL_BIT(kApplication) | XSP_LEVEL_BIT(kModel));
}

TEST_F(StepsTest, SpansOfThatTypeAreStepsOnlyWhereTheRecordingSaysSo) {
  const uint32_t users = site(kApplication, "step");
  const uint32_t of_layers = site(kLayer, "step", "model");
  const uint32_t unknown = site(kApplication, "step", "moon");
  chunk(1, {{users, 0, 10}, {of_layers, 10, 20}, {unknown, 20, 30}});
  EXPECT_EQ(find().kind, 0u);
}

TEST_F(StepsTest, WithoutAnyTheOutermostSpansOfTheModelAreSteps) {
  const uint32_t model = site(kModel, "Net");
  // There are two threads. On the first, one call contains another that ends first, and one that
  // has the same end.
  chunk(1, {{model, 12, 18, 5}, {model, 10, 40, 0}, {model, 20, 40, 6}, {model, 50, 60, 1}});
  chunk(2, {{model, 30, 55, 9}});
  const TraceSteps found = find();
  EXPECT_EQ(found.kind, XSP_STEP_MODEL);
  EXPECT_EQ(starts(found.steps), (std::vector<int64_t>{10, 30, 50}));
  EXPECT_EQ(iterations(found.calls), (std::vector<int64_t>{0, 9, 1}));
}

TEST_F(StepsTest, CallsAreCountedUnlessEachHasANumberOfItsOwn) {
  const uint32_t model = site(kModel, "Net");
  // There are two threads. One call has no number, and one is inside another and does not count.
  chunk(1, {{model, 0, 10}, {model, 25, 28, 4}, {model, 20, 30, 7}, {model, 60, 70, 8}});
  chunk(2, {{model, 15, 18, 9}, {model, 40, 50, 10}});
  const TraceSteps found = find();
  EXPECT_EQ(starts(found.steps), (std::vector<int64_t>{0, 15, 20, 40, 60}));
  EXPECT_EQ(iterations(found.calls), (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST_F(StepsTest, CallsThatShareANumberAreCounted) {
  const uint32_t model = site(kModel, "Net");
  chunk(1, {{model, 0, 10, 0}, {model, 20, 30, 1}});
  chunk(2, {{model, 5, 15, 0}});
  EXPECT_EQ(iterations(find().calls), (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(StepsTest, StepsOfManyChunksAreInTheOrderOfTheirStarts) {
  const uint32_t mark = site(kApplication, "step", "mark");
  chunk(2, {{mark, 40, 50}, {mark, 50, 60}});
  chunk(1, {{mark, 0, 20}, {mark, 20, 40}});
  const TraceSteps found = find();
  EXPECT_EQ(starts(found.steps), (std::vector<int64_t>{0, 20, 40, 50}));
  EXPECT_EQ(found.steps[1].end_ns, 40);
}

}  // namespace
}  // namespace xsp::correlate

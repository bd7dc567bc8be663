#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "importers/shared/importer.h"
#include "shared/trace/reader.h"
#include "xsp/xsp.h"

namespace xsp::importers {

std::vector<Importer> chrome_importers();

namespace {

class Collected final : public SpanSink {
 public:
  Status add(const ForeignSpan& span) override {
    spans.push_back(span);
    return Ok{};
  }
  void add_run(const ForeignRun& run) override { runs.push_back(run); }
  std::vector<ForeignSpan> spans;
  std::vector<ForeignRun> runs;
};

class ChromeImporter : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (std::filesystem::temp_directory_path() / "xsp-chrome-XXXXXX").string();
    ASSERT_NE(::mkdtemp(form.data()), nullptr);
    folder = form;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path file_of(const std::string& text) const {
    std::ofstream(folder / "a.json", std::ios::binary) << text;
    return folder / "a.json";
  }
  std::vector<ForeignSpan> read(const std::string& text) {
    Collected collected;
    const auto count = chrome_importers()[0].read(file_of(text), collected);
    EXPECT_TRUE(count.ok()) << count.error().text;
    left_out = count.ok() ? *count : 0;
    return collected.spans;
  }

  std::filesystem::path folder;
  uint64_t left_out = 0;
};

TEST_F(ChromeImporter, TimesAreExactToTheNanosecond) {
  const auto spans = read(R"({"traceEvents":[
      {"ph":"X","name":"a","ts":1700000000000000.123,"dur":0.001,"pid":1,"tid":2},
      {"ph":"X","name":"b","ts":12,"dur":1.5,"pid":1,"tid":2},
      {"ph":"X","name":"c","ts":3.0004,"dur":2.0005,"pid":1,"tid":2}]})");
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].start_ns, 1700000000000000123);
  EXPECT_EQ(spans[0].duration_ns, 1);
  EXPECT_EQ(spans[1].start_ns, 12000);
  EXPECT_EQ(spans[1].duration_ns, 1500);
  EXPECT_EQ(spans[2].start_ns, 3000) << "a fourth decimal rounds";
  EXPECT_EQ(spans[2].duration_ns, 2001);
}

TEST_F(ChromeImporter, TimesMayHaveExponents) {
  const auto spans = read(R"({"traceEvents":[
      {"ph":"X","name":"a","ts":1.7000000000000123e15,"dur":1e+06},
      {"ph":"X","name":"b","ts":2.5e1,"dur":2.5E3},
      {"ph":"X","name":"c","ts":"12345.6e-1","dur":12.34e-1},
      {"ph":"X","name":"d","ts":0e999999999,"dur":5e-4},
      {"ph":"X","name":"e","ts":-1e0,"dur":49e-5},
      {"ph":"X","name":"f","ts":0.00000125E+7,"dur":1e-999}]})");
  std::vector<std::pair<int64_t, int64_t>> times;
  for (const ForeignSpan& span : spans) times.emplace_back(span.start_ns, span.duration_ns);
  const std::vector<std::pair<int64_t, int64_t>> expected = {{1700000000000012300, 1000000000},
                                                             {25000, 2500000},
                                                             {1234560, 1234},
                                                             {0, 1},  // half a nanosecond rounds up
                                                             {-1000, 0},
                                                             {12500, 0}};
  EXPECT_EQ(times, expected);
  EXPECT_EQ(left_out, 0u);
}

TEST_F(ChromeImporter, EventsWithoutReadableTimesAreLeftOut) {
  const auto spans = read(R"([
      {"ph":"X","name":"a","ts":1}, {"ph":"X","name":"b","ts":1,"dur":null},
      {"ph":"X","name":"c","ts":null,"dur":1}, {"ph":"X","name":"d","ts":1,"dur":"long"},
      {"ph":"X","name":"e","ts":1,"dur":1e}, {"ph":"X","name":"f","ts":1,"dur":1e99},
      {"ph":"X","name":"g","ts":1,"dur":1e2147483648}, {"ph":"X","name":"h","ts":1,"dur":1.5.2},
      {"ph":"X","name":"i","ts":1,"dur":"-"}, {"ph":"X","name":"j","ts":1,"dur":12 ms},
      {"ph":"X","name":"fine","ts":1,"dur":1}])");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, "fine");
  EXPECT_EQ(left_out, 10u);
}

TEST_F(ChromeImporter, TheBaseMayFollowTheEvents) {
  const auto spans = read(R"({"traceEvents":[{"ph":"X","name":"a","ts":1.5,"dur":1}],
      "baseTimeNanoseconds":1700000000000000000})");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].start_ns, 1700000000000001500);
}

TEST_F(ChromeImporter, LevelsFollowArgumentsThenCategories) {
  const auto spans = read(R"([
      {"ph":"X","name":"a","cat":"kernel","ts":1,"dur":1,"args":{"level":"layer","type":"Conv"}},
      {"ph":"X","name":"k","cat":"kernel","ts":1,"dur":1,"pid":0,"tid":7,
       "args":{"device":0,"stream":7,"correlation":42,"grid":[1,2,3]}},
      {"ph":"X","name":"l","cat":"cuda_runtime","ts":1,"dur":1,"args":{"correlation":42}},
      {"ph":"X","name":"o","cat":"other","ts":1,"dur":1}])");
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0].level, uint32_t{XSP_LEVEL_LAYER});
  EXPECT_EQ(spans[0].type, "Conv");
  EXPECT_EQ(spans[1].level, uint32_t{XSP_LEVEL_KERNEL});
  EXPECT_EQ(spans[1].device, 0u);
  EXPECT_EQ(spans[1].stream, 7u);
  EXPECT_EQ(spans[1].thread, 0u) << "the track of a stream is no thread";
  EXPECT_EQ(spans[1].correlation, 42u);
  ASSERT_EQ(spans[1].attributes.size(), 1u);
  EXPECT_EQ(spans[1].attributes[0].second, "[1,2,3]");
  EXPECT_EQ(spans[2].level, uint32_t{XSP_LEVEL_API});
  EXPECT_EQ(spans[2].correlation, 42u);
  EXPECT_EQ(spans[3].level, uint32_t{XSP_LEVEL_APPLICATION});
  EXPECT_EQ(spans[3].type, "other");
}

TEST_F(ChromeImporter, KernelsGoToTheOnlyProcessThatLaunches) {
  const auto spans = read(R"([
      {"ph":"X","name":"k","cat":"kernel","ts":1,"dur":1,"pid":0,"tid":7},
      {"ph":"X","name":"l","cat":"cuda_runtime","ts":1,"dur":1,"pid":4711,"tid":4711}])");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].process, 4711u);
}

// All kinds of events that torch.profiler of PyTorch 2 writes, for one step on two streams.
constexpr const char* kKineto = R"json({"schemaVersion":1,
  "deviceProperties":[{"id":0,"name":"NVIDIA H100","computeMajor":9}],"cupti_version":24,
  "displayTimeUnit":"ms","baseTimeNanoseconds":1712784000000000000,"traceEvents":[
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":4711,"tid":4711,"ts":1000.125,
   "dur":900.000,"args":{"External id":1,"Record function id":0,"Ev Idx":0}},
  {"ph":"X","cat":"python_function","name":"train.py(12): step","pid":4711,"tid":4711,"ts":1001,
   "dur":880,"args":{"Python parent id":null,"Python id":1,"Ev Idx":1}},
  {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":4711,"tid":4711,"ts":1010,"dur":300,
   "args":{"External id":2,"Sequence number":7,"Fwd thread id":0,"Ev Idx":2}},
  {"ph":"X","cat":"cpu_op","name":"AddmmBackward0","pid":4711,"tid":4720,"ts":1400,"dur":100,
   "args":{"External id":3,"Sequence number":7,"Fwd thread id":1,"Ev Idx":3}},
  {"ph":"s","id":1,"pid":4711,"tid":4711,"ts":1010,"cat":"fwdbwd","name":"fwdbwd"},
  {"ph":"f","id":1,"pid":4711,"tid":4720,"ts":1400,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":4711,"tid":4711,"ts":1020,
   "dur":10.5,"args":{"External id":2,"cbid":211,"correlation":101}},
  {"ph":"s","id":101,"pid":4711,"tid":4711,"ts":1020,"cat":"ac2g","name":"ac2g"},
  {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1060,"dur":300.25,
   "args":{"External id":2,"queued":0,"device":0,"context":1,"stream":7,"correlation":101,
   "registers per thread":96,"grid":[1,2,3],"block":[128,1,1]}},
  {"ph":"f","id":101,"pid":0,"tid":7,"ts":1060,"cat":"ac2g","name":"ac2g","bp":"e"},
  {"ph":"X","cat":"cuda_driver","name":"cuLaunchKernelEx","pid":4711,"tid":4720,"ts":1410,
   "dur":5,"args":{"External id":3,"cbid":652,"correlation":102}},
  {"ph":"X","cat":"kernel","name":"triton_","pid":0,"tid":20,"ts":1430,"dur":30,
   "args":{"External id":3,"device":0,"context":1,"stream":20,"correlation":102}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":4711,"tid":4711,"ts":1500,
   "dur":10,"args":{"cbid":41,"correlation":103}},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,
   "ts":1520,"dur":20,"args":{"device":0,"context":1,"stream":7,"correlation":103,"bytes":4096}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaMemsetAsync","pid":4711,"tid":4711,"ts":1540,
   "dur":10,"args":{"cbid":51,"correlation":104}},
  {"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":1555,"dur":5,
   "args":{"device":0,"context":1,"stream":7,"correlation":104,"bytes":64}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":4711,"tid":4711,
   "ts":1600,"dur":50,"args":{"cbid":131,"correlation":105}},
  {"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":1600,"dur":50,
   "args":{"device":0,"context":1,"stream":7,"correlation":105}},
  {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#2","pid":0,"tid":7,"ts":1060,
   "dur":500,"args":{"External id":1}},
  {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#2","pid":0,"tid":20,"ts":1430,
   "dur":200,"args":{"External id":1,"device":0,"stream":20}},
  {"ph":"X","cat":"overhead","name":"Activity Buffer Request","pid":-1,"tid":0,"ts":1002,"dur":3},
  {"name":"process_name","ph":"M","ts":1000.125,"pid":4711,"tid":0,"args":{"name":"python3"}},
  {"name":"process_labels","ph":"M","ts":1000.125,"pid":0,"tid":0,"args":{"labels":"GPU 0"}},
  {"name":"thread_name","ph":"M","ts":1000.125,"pid":0,"tid":7,"args":{"name":"stream 7 "}},
  {"ph":"X","cat":"Trace","ts":1000.125,"dur":1000,"pid":"Spans","tid":"PyTorch Profiler",
   "name":"PyTorch Profiler (0)","args":{"Op count":0}},
  {"name":"process_sort_index","ph":"M","ts":1000,"pid":"Spans","tid":0,"args":{"sort_index":1}},
  {"name":"Iteration Start: PyTorch Profiler","ph":"i","s":"g","pid":"Traces",
   "tid":"Trace PyTorch Profiler","ts":1000.125},
  {"name":"Record Window End","ph":"i","s":"g","pid":"","tid":"","ts":2000}],
  "traceName":"./trace.json"})json";

TEST_F(ChromeImporter, SpansOfPyTorchsDevicesGoToTheirHost) {
  const auto spans = read(kKineto);
  ASSERT_EQ(spans.size(), 18u);
  EXPECT_EQ(left_out, 2u) << "the two marks";
  std::map<std::string, std::set<uint32_t>> threads;  // of the annotations, by name
  for (const ForeignSpan& span : spans) {
    const bool is_own = span.name == "Activity Buffer Request" || span.name.starts_with("PyTorch");
    EXPECT_EQ(span.process == 4711, !is_own) << span.name;
    if (span.level == XSP_LEVEL_KERNEL) {
      EXPECT_EQ(span.thread, 0u) << span.name;
      EXPECT_GT(span.correlation, 0u) << span.name;
    } else if (span.level == XSP_LEVEL_APPLICATION) {
      EXPECT_EQ(span.correlation, 0u) << span.name << " launches nothing";
      threads[span.name].insert(span.thread);
    }
  }
  EXPECT_EQ(std::count_if(spans.begin(), spans.end(),
                          [](const auto& span) { return span.level == XSP_LEVEL_KERNEL; }),
            4);
  // The annotation on the host, and those on both streams, which overlap, are not on one thread;
  // and none of the latter contains a kernel, which is on thread 0.
  EXPECT_EQ(threads["ProfilerStep#2"].size(), 3u);
  EXPECT_EQ(threads["ProfilerStep#2"].count(0), 0u);
}

TEST_F(ChromeImporter, KernelsOfSeveralHostsGoToTheirLaunch) {
  const auto spans = read(R"([
      {"ph":"X","name":"a","cat":"cuda_runtime","ts":1,"dur":1,"pid":100,"args":{"correlation":1}},
      {"ph":"X","name":"b","cat":"cuda_runtime","ts":1,"dur":1,"pid":200,"args":{"correlation":1}},
      {"ph":"X","name":"c","cat":"cuda_runtime","ts":1,"dur":1,"pid":200,"args":{"correlation":2}},
      {"ph":"X","name":"d","cat":"cuda_driver","ts":1,"dur":1,"pid":200,"args":{"correlation":2}},
      {"ph":"X","name":"k","cat":"kernel","ts":3,"dur":1,"pid":0,"args":{"correlation":2}},
      {"ph":"X","name":"either","cat":"kernel","ts":3,"dur":1,"pid":0,"args":{"correlation":1}},
      {"ph":"X","name":"none","cat":"kernel","ts":3,"dur":1,"pid":0,"args":{"correlation":3}},
      {"ph":"X","name":"mine","cat":"kernel","ts":3,"dur":1,"pid":100,"args":{"correlation":2}}])");
  ASSERT_EQ(spans.size(), 8u);
  EXPECT_EQ(spans[4].process, 200u);
  EXPECT_EQ(spans[5].process, 0u) << "both hosts have that id";
  EXPECT_EQ(spans[6].process, 0u);
  EXPECT_EQ(spans[7].process, 100u) << "a host's own kernels stay";
}

TEST_F(ChromeImporter, ACallThatNamesItsStreamIsOnItsThread) {
  const auto spans = read(R"([
      {"ph":"X","name":"hipLaunchKernel","cat":"cuda_runtime","ts":1,"dur":1,"pid":9,"tid":8,
       "args":{"correlation":5,"stream":0}},
      {"ph":"B","name":"k","cat":"kernel","ts":3,"pid":2,"tid":1,"args":{"device":2,"stream":1}},
      {"ph":"E","ts":5,"pid":2,"tid":1}])");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].thread, 8u);
  EXPECT_EQ(spans[1].process, 9u);
  EXPECT_EQ(spans[1].duration_ns, 2000) << "an end need not tell the device";
  EXPECT_EQ(left_out, 0u);
}

TEST_F(ChromeImporter, BeginsAndEndsMatchByThread) {
  const auto spans = read(R"([
      {"ph":"B","name":"outer","ts":1,"pid":1,"tid":1},
      {"ph":"B","name":"x","ts":2,"pid":1,"tid":2},
      {"ph":"B","name":"inner","ts":3,"pid":1,"tid":1}, {"ph":"E","ts":4,"pid":1,"tid":1},
      {"ph":"E","ts":9,"pid":1,"tid":1}, {"ph":"E","ts":9,"pid":1,"tid":1}])");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].name, "inner");
  EXPECT_EQ(spans[0].duration_ns, 1000);
  EXPECT_EQ(spans[1].name, "outer");
  EXPECT_EQ(spans[1].duration_ns, 8000);
  EXPECT_EQ(left_out, 2u) << "an end without a begin, and a begin without an end";
}

TEST_F(ChromeImporter, SpansThatEndBeforeTheyBeginAreLeftOut) {
  const auto spans = read(R"([
      {"ph":"B","name":"a","ts":5,"pid":1,"tid":2},
      {"ph":"E","ts":4.5,"pid":1,"tid":2},
      {"ph":"X","name":"b","ts":1,"dur":-1,"pid":1,"tid":2},
      {"ph":"X","name":"c","ts":--9223372036854775807,"dur":1,"pid":1,"tid":2},
      {"ph":"X","name":"d","ts":1,"dur":0,"pid":1,"tid":2}])");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, "d");
  EXPECT_EQ(left_out, 3u);
}

TEST_F(ChromeImporter, OtherEventsAreCountedAndNamesAreNot) {
  EXPECT_EQ(read(R"([{"ph":"M","name":"process_name"},{"ph":"i","name":"mark","ts":1},
                     {"ph":"C","name":"count","ts":1},{"ph":"X","name":"no time"},
                     {"ph":"X","name":"a","ts":"soon"},{"ph":"s","ts":1},
                     {"ph":"X","name":"ok","ts":1,"dur":1}])")
                .size(),
            1u);
  EXPECT_EQ(left_out, 4u);
}

TEST_F(ChromeImporter, TheTraceHasWhatTheFileSays) {
  const auto file = file_of(R"([
      {"ph":"X","name":"k","ts":5,"dur":2,"pid":3,"tid":1,"args":{"level":"kernel","device":1,
       "stream":0,"correlation":9,"attributes":{"text":")" +
                            std::string(5000, 'x') + R"("},"counters":{"bytes":1.5}}},
      {"ph":"X","name":"m","ts":1,"dur":9,"pid":3,"tid":8,"args":{"level":"model","thread":8}},
      {"ph":"C","name":"count","ts":1}])");
  const auto importer = importer_of(file);
  ASSERT_TRUE(importer.ok()) << importer.error().text;
  const auto traces = convert(*importer, file, folder);
  ASSERT_TRUE(traces.ok()) << traces.error().text;
  ASSERT_EQ(traces->size(), 1u);
  ASSERT_EQ(traces->front().traces.size(), 1u);
  const auto reader = trace::Reader::open(traces->front().traces[0]);
  ASSERT_TRUE(reader.ok()) << reader.error().text;
  EXPECT_TRUE(reader->is_complete());
  EXPECT_EQ(reader->process_id(), 3u);
  ASSERT_EQ(reader->losses().size(), 1u);
  EXPECT_EQ(reader->losses()[0].count, 1u);
  ASSERT_EQ(reader->streams().size(), 1u);
  trace::SpanBatch batch;
  ASSERT_TRUE(reader->read(0, 0, &batch).ok());
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch.start_ns, (std::vector<int64_t>{5000, 1000}));
  EXPECT_EQ(batch.end_ns, (std::vector<int64_t>{7000, 10000}));
  EXPECT_EQ(batch.device, (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(batch.stream, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(batch.correlation_id, (std::vector<uint64_t>{9, 0}));
  EXPECT_EQ(batch.thread[1], 8u);
  ASSERT_EQ(batch.values.size(), 2u);
  EXPECT_EQ(batch.values[0].as_text, std::string(4096, 'x')) << "a long text is cut";
  EXPECT_EQ(batch.values[1].as_double, 1.5);
}

TEST_F(ChromeImporter, ManySpansTakeSeveralChunks) {
  std::string text = "[";
  constexpr int kSpans = 40000;
  for (int i = 0; i < kSpans; ++i) {
    text += (i > 0 ? "," : "") + std::string(R"({"ph":"X","name":"n)") + std::to_string(i % 100) +
            R"(","ts":)" + std::to_string(kSpans - i) + R"(,"dur":1,"pid":1,"tid":1})";
  }
  const auto file = file_of(text + "]");
  const auto traces = convert(chrome_importers()[0], file, folder);
  ASSERT_TRUE(traces.ok()) << traces.error().text;
  const auto reader = trace::Reader::open(traces->front().traces[0]);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->sites().size(), 100u);
  EXPECT_EQ(reader->streams()[0].span_count, uint64_t{kSpans});
  EXPECT_TRUE(reader->losses().empty());
}

TEST_F(ChromeImporter, RunsThatXspDescribesStayApart) {
  const std::string spans =
      R"({"ph":"X","name":"m","ts":1,"dur":1,"pid":3,"tid":1,"args":{"run":1}},
      {"ph":"X","name":"m","ts":5,"dur":2,"pid":3,"tid":1,"args":{"run":2}}])";
  const auto foreign = convert(chrome_importers()[0], file_of("[" + spans), folder);
  ASSERT_TRUE(foreign.ok()) << foreign.error().text;
  EXPECT_EQ(foreign->size(), 1u) << "another tool may call anything a run";
  EXPECT_EQ(foreign->front().run.id, 0u);
  const std::string described = R"([
      {"ph":"M","name":"xsp_run","pid":0,"tid":0,"args":{"run":1,"levels":"model","batch":8}},
      {"ph":"M","name":"xsp_run","pid":0,"tid":0,"args":{"run":2,"levels":"model,layer"}},)";
  const auto own = convert(chrome_importers()[0], file_of(described + spans), folder);
  ASSERT_TRUE(own.ok()) << own.error().text;
  ASSERT_EQ(own->size(), 2u);
  EXPECT_EQ(own->at(0).run.levels, "model");
  EXPECT_EQ(own->at(0).run.batch, 8);
  EXPECT_EQ(own->at(0).traces.size(), 1u);
  EXPECT_EQ(own->at(1).run.levels, "model,layer");
  EXPECT_EQ(own->at(1).run.batch, std::nullopt);
}

// Two inferences, the first of which is warm-up, and one that never ended.
constexpr const char* kInferences = R"(
    {"ph":"X","name":"m","ts":1,"dur":2,"pid":3,"tid":1,"args":{"level":"model","run":1,
     "iteration":-1,"attributes":{"iteration":"0","batch":"4"}}},
    {"ph":"X","name":"l","ts":1,"dur":1,"pid":3,"tid":1,"args":{"level":"layer","run":1,
     "iteration":-1}},
    {"ph":"X","name":"m","ts":5,"dur":2,"pid":3,"tid":1,"args":{"level":"model","run":1,
     "iteration":0,"attributes":{"iteration":"1"}}},
    {"ph":"X","name":"m","ts":8,"dur":4,"pid":3,"tid":1,"args":{"level":"model","run":1,
     "open":true}},
    {"ph":"X","name":"l","ts":9,"dur":3,"pid":3,"tid":1,"args":{"level":"layer","run":1,
     "open":true}}])";

TEST_F(ChromeImporter, RunsThatXspDescribesKeepTheirIterationsAndOpenSpans) {
  const auto file = file_of(
      R"([{"ph":"M","name":"xsp_run","pid":0,"tid":0,"args":{"run":1,"levels":"model,layer"}},)" +
      std::string(kInferences));
  const auto runs = convert(chrome_importers()[0], file, folder);
  ASSERT_TRUE(runs.ok()) << runs.error().text;
  EXPECT_TRUE(runs->front().has_iterations);
  const auto reader = trace::Reader::open(runs->front().traces[0]);
  ASSERT_TRUE(reader.ok()) << reader.error().text;
  EXPECT_TRUE(reader->losses().empty());
  trace::SpanBatch batch;
  ASSERT_TRUE(reader->read(0, 0, &batch).ok());
  ASSERT_EQ(batch.size(), 3u);
  std::map<uint32_t, int64_t> iterations;
  std::string texts;
  for (const trace::SpanValue& value : batch.values) {
    const std::string& key = reader->keys()[value.key];
    if (value.kind == XSP_VALUE_INT && key == "iteration") iterations[value.span] = value.as_int;
    if (value.kind == XSP_VALUE_TEXT) texts += key + " ";
  }
  EXPECT_EQ(iterations, (std::map<uint32_t, int64_t>{{0, -1}, {2, 0}})) << "those of the model";
  EXPECT_EQ(texts, "batch ") << "no second number of an inference";
  ASSERT_EQ(reader->open_spans().size(), 2u);
  EXPECT_EQ(reader->open_spans()[0].start_ns, 8000);
  EXPECT_EQ(reader->open_spans()[1].start_ns, 9000) << "the outer one comes first";
  EXPECT_EQ(reader->open_spans()[1].thread, 1u);
  EXPECT_EQ(reader->last_ns(), 12000) << "until then they last";
}

TEST_F(ChromeImporter, OtherToolsNumbersAreNoIterations) {
  const auto spans = read("[" + std::string(kInferences));
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans[0].iteration, std::nullopt);
  EXPECT_FALSE(spans[3].is_open);
  ASSERT_EQ(spans[3].attributes.size(), 1u);
  EXPECT_EQ(spans[3].attributes[0].first, "open");
}

// A reader keeps a thread's outermost open spans, and counts the others.
TEST_F(ChromeImporter, MoreOpenSpansThanATraceKeepsAreCounted) {
  std::string text = R"([{"ph":"M","name":"xsp_run","args":{"run":1,"levels":"model"}})";
  for (int i = 0; i < 300; ++i) {
    text += R"(,{"ph":"X","name":"a","ts":)" + std::to_string(i) +
            R"(,"dur":9,"pid":3,"tid":1,"args":{"run":1,"open":true}})";
  }
  const auto runs = convert(chrome_importers()[0], file_of(text + "]"), folder);
  ASSERT_TRUE(runs.ok()) << runs.error().text;
  const auto reader = trace::Reader::open(runs->front().traces[0]);
  ASSERT_TRUE(reader.ok()) << reader.error().text;
  ASSERT_EQ(reader->losses().size(), 1u);
  EXPECT_EQ(reader->losses()[0].count + reader->open_spans().size(), 300u);
  EXPECT_EQ(reader->open_spans().back().start_ns, 251000);
}

TEST_F(ChromeImporter, FilesWithoutSpansAreRefused) {
  EXPECT_FALSE(importer_of(file_of("\x1f\x8b compressed")).ok());
  EXPECT_FALSE(importer_of(folder / "missing").ok());
  const auto traces = convert(chrome_importers()[0], file_of("{\"traceEvents\":[]}"), folder);
  ASSERT_FALSE(traces.ok());
  EXPECT_NE(traces.error().text.find("no spans"), std::string::npos);
}

}  // namespace
}  // namespace xsp::importers

#include "desk/store/ingest.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "desk/store/testing.h"
#include "xsp/xsp.h"

namespace xsp::store {
namespace {

namespace fs = std::filesystem;

class IngestTest : public testing::Test {
 protected:
  fs::path path(const std::string& name = "a.xtrace") const { return folder_.path() / name; }

  // Records the spans that `work` emits, in this process.
  void record(const std::function<void()>& work, const std::string& file = "a.xtrace") {
    xsp_options options = {};
    options.struct_size = sizeof options;
    const std::string name = path(file).string();
    options.path = name.c_str();
    ASSERT_EQ(xsp_start(&options), 0);
    work();
    ASSERT_EQ(xsp_stop(), 0);
  }

  // Records the spans that `work` emits, in a process that is then killed.
  void record_and_kill(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      xsp_options options = {};
      options.struct_size = sizeof options;
      const std::string name = path().string();
      options.path = name.c_str();
      if (xsp_start(&options) != 0) _exit(1);
      work();
      raise(SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  Table ask(const std::string& sql) {
    auto table = database_->query(sql);
    EXPECT_TRUE(table.ok()) << sql << ": " << table.error().text;
    return table.ok() ? *table : Table{};
  }
  Value one(const std::string& sql) {
    const Table table = ask(sql);
    EXPECT_EQ(table.rows.size(), 1u) << sql;
    return table.rows.size() == 1 ? table.rows[0][0] : Value(std::string("no row"));
  }
  Value fact(const std::string& name) {
    return one("SELECT value FROM audit_fact WHERE name = '" + name + "'");
  }
  IngestReport ingest_all(const RunInfo& run) {
    auto report = ingest(*database_, run, path());
    EXPECT_TRUE(report.ok()) << report.error().text;
    return report.ok() ? *report : IngestReport{};
  }

  ScratchFolder folder_;
  Result<Database> database_ = Database::in_memory();
};

RunInfo sample_run() {
  RunInfo run;
  run.run_id = 3;
  run.levels = "model,layer";
  run.batch = 8;
  run.framework = "fake";
  run.framework_version = "1";
  run.device = "cpu";
  run.warmup_iterations = 2;
  run.iterations = 4;
  run.stopped_by = "iterations";
  BlockInfo block;
  block.iterations = 6;
  block.start_ns = 1000;
  block.duration_ns = 2000;
  block.cpu_mhz = 2100.5;
  block.load_1min = 0.25;
  run.blocks.push_back(block);
  return run;
}

// Emits six inferences of a model with two layers; the second layer contains another.
void infer() {
  static xsp_site model =
      XSP_SITE(XSP_LEVEL_MODEL, "a model with a name of more than twelve bytes");
  const uint32_t conv = xsp_intern_site(XSP_LEVEL_LAYER, "conv1", "Conv");
  const uint32_t loop = xsp_intern_site(XSP_LEVEL_LAYER, "a loop with a long name", "Loop");
  const uint32_t relu = xsp_intern_site(XSP_LEVEL_LAYER, "relu", nullptr);
  xsp_site_attribute(conv, "input_shapes", "[[1,3,224,224]]");
  xsp_site_counter(conv, "output_bytes", 512);
  const uint32_t iteration = xsp_intern_key("iteration");
  const uint32_t note = xsp_intern_key("note");
  const uint32_t joules = xsp_intern_key("energy_joules");
  for (int i = 0; i < 6; ++i) {
    xsp_span span = xsp_begin(&model);
    xsp_span_int(&span, iteration, i);
    xsp_span_text(&span, note, "caf\xC3\xA9 \xFF");
    xsp_span_counter(&span, joules, 0.5);
    const int64_t now = xsp_now_ns();
    xsp_complete_span layer = {};
    layer.struct_size = sizeof layer;
    auto emit = [&](uint32_t site, int64_t start, int64_t duration) {
      layer.site_id = site;
      layer.start_ns = now + start;
      layer.duration_ns = duration;
      xsp_emit(&layer);
    };
    emit(loop, 500, 400);
    emit(conv, 0, 450);
    emit(relu, 600, 100);
    while (xsp_now_ns() < now + 1000) {
    }
    xsp_end(&span);
  }
}

TEST_F(IngestTest, ARunAndItsSpansBecomeRows) {
  record(infer);
  const IngestReport report = ingest_all(sample_run());
  EXPECT_EQ(report.spans, 24u);
  EXPECT_EQ(report.unattributed, 0u);
  EXPECT_EQ(report.lost, 0u);

  EXPECT_EQ(
      one("SELECT levels || ' ' || batch || ' ' || status || ' ' || stopped_by || ' ' || "
          "warmup_iterations FROM run WHERE run_id = 3 AND counters IS NULL AND reason IS NULL"),
      Value(std::string("model,layer 8 ok iterations 2")));
  EXPECT_EQ(one("SELECT first_iteration || ' ' || iterations || ' ' || cpu_mhz || ' ' || load_1min "
                "FROM block WHERE temperature_c IS NULL"),
            Value(std::string("-2 6 2100.5 0.25")));
  // Every model span has its iteration, and its layers have the same one.
  EXPECT_EQ(one("SELECT list(DISTINCT iteration ORDER BY iteration)::VARCHAR FROM span"),
            Value(std::string("[-2, -1, 0, 1, 2, 3]")));
  EXPECT_EQ(
      one("SELECT count(*) FROM span l JOIN span m ON l.model_id = m.span_id WHERE m.level = 2 "
          "AND l.iteration = m.iteration"),
      Value(int64_t{24}));
  EXPECT_EQ(
      one("SELECT string_agg(name || ':' || coalesce(type, '-') || ':' || ordinal || ':' || depth "
          "|| ':' || self_ns, ' ' ORDER BY ordinal) FROM span WHERE iteration = 0 AND level = 3"),
      Value(std::string("conv1:Conv:0:0:450 a loop with a long name:Loop:1:0:300 relu:-:2:1:100")));
  EXPECT_EQ(one("SELECT count(*) FROM span l JOIN span p ON l.parent_id = p.span_id WHERE "
                "l.name = 'relu' AND p.type = 'Loop' AND l.layer_id = l.span_id"),
            Value(int64_t{6}));
  EXPECT_EQ(
      one("SELECT sum(self_ns) - (SELECT sum(duration_ns) FROM span WHERE level = 2) FROM span"),
      Value(0.0));
  EXPECT_EQ(
      one("SELECT count(*) FROM span WHERE device IS NULL AND stream IS NULL AND correlation_id "
          "IS NULL AND process = " +
          std::to_string(getpid()) + " AND run_id = 3 AND NOT is_open"),
      Value(int64_t{24}));
}

TEST_F(IngestTest, FactsReachTheViews) {
  record(infer);
  ingest_all(sample_run());
  EXPECT_EQ(one("SELECT count(*) FROM attribute WHERE key = 'input_shapes' AND value = "
                "'[[1,3,224,224]]'"),
            Value(int64_t{6}));
  EXPECT_EQ(one("SELECT sum(value) FROM counter WHERE name = 'output_bytes'"), Value(3072.0));
  EXPECT_EQ(one("SELECT sum(value) FROM counter WHERE name = 'energy_joules'"), Value(3.0));
  EXPECT_EQ(
      one("SELECT count(*) FROM attribute JOIN span USING (run_id, span_id) WHERE key = 'note' "
          "AND value = 'café \xEF\xBF\xBD' AND level = 2"),
      Value(int64_t{6}));
  EXPECT_EQ(one("SELECT sum(value::INTEGER) FROM attribute WHERE key = 'iteration'"), Value(15.0));
  EXPECT_EQ(fact("spans"), Value(int64_t{24}));
  EXPECT_EQ(fact("roots"), Value(int64_t{6}));
  EXPECT_EQ(fact("trace_complete"), Value(int64_t{1}));
  EXPECT_EQ(fact("unattributed"), Value(int64_t{0}));
  EXPECT_EQ(one("SELECT count(*) FROM loss"), Value(int64_t{0}));
}

TEST_F(IngestTest, AKilledProcessLeavesItsSpansAndItsOpenOnes) {
  record_and_kill([] {
    static xsp_site application = XSP_SITE(XSP_LEVEL_APPLICATION, "main");
    xsp_span frame = xsp_begin(&application);
    infer();
    static xsp_site model = XSP_SITE(XSP_LEVEL_MODEL, "unfinished");
    (void)xsp_begin(&model);
    (void)frame;
    xsp_flush();
  });
  const IngestReport report = ingest_all(sample_run());
  EXPECT_EQ(report.spans, 26u);
  EXPECT_EQ(fact("trace_complete"), Value(int64_t{0}));
  EXPECT_EQ(fact("open_spans"), Value(int64_t{2}));
  EXPECT_EQ(one("SELECT string_agg(name, ' ' ORDER BY level) FROM span WHERE is_open"),
            Value(std::string("main unfinished")));
  EXPECT_EQ(
      one("SELECT count(*) FROM span m JOIN span p ON m.parent_id = p.span_id WHERE m.level = 2 "
          "AND p.name = 'main'"),
      Value(int64_t{7}));
  EXPECT_EQ(
      one("SELECT count(*) FROM span WHERE level = 1 AND parent_id IS NULL AND duration_ns > 0"),
      Value(int64_t{1}));
}

TEST_F(IngestTest, CutShortAtAnyByteATraceIsReadToItsLastCompleteChunk) {
  record([] {
    infer();
    xsp_flush();
    infer();
  });
  std::ifstream file(path(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  int64_t last = 0;
  int run_id = 0;
  for (size_t length = 4096; length <= bytes.size(); length += 197) {
    std::ofstream(path("cut.xtrace"), std::ios::binary) << bytes.substr(0, length);
    RunInfo run = sample_run();
    run.run_id = ++run_id;
    auto report = ingest(*database_, run, path("cut.xtrace"));
    ASSERT_TRUE(report.ok()) << report.error().text;
    EXPECT_GE(static_cast<int64_t>(report->spans), last) << length;
    last = static_cast<int64_t>(report->spans);
    EXPECT_EQ(one("SELECT count(*) FROM span WHERE run_id = " + std::to_string(run_id)),
              Value(last));
    EXPECT_TRUE(report->spans == 48 || report->lost > 0) << length;
  }
  EXPECT_GE(last, 24);
}

TEST_F(IngestTest, AFailedIngestLeavesNothingBehind) {
  record(infer);
  ingest_all(sample_run());
  auto again = ingest(*database_, sample_run(), path());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().text.find('\n'), std::string::npos);
  EXPECT_EQ(one("SELECT count(*) FROM span"), Value(int64_t{24}));
  EXPECT_EQ(one("SELECT count(*) FROM block"), Value(int64_t{1}));
  RunInfo other = sample_run();
  other.run_id = 4;
  EXPECT_FALSE(ingest(*database_, other, path("missing.xtrace")).ok());
  EXPECT_EQ(one("SELECT count(*) FROM run"), Value(int64_t{1}));
  EXPECT_EQ(ingest_all(other).spans, 24u);
}

// Returns the peak memory of this process, in bytes.
size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoul(line.substr(6)) << 10;
  }
  return 0;
}

TEST_F(IngestTest, MemoryDoesNotGrowWithTheTrace) {
#ifdef XSP_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory grows";
#endif
  constexpr int kIterations = 60000;
  constexpr int kLayers = 49;
  record([] {
    static xsp_site frame_site = XSP_SITE(XSP_LEVEL_APPLICATION, "main");
    static xsp_site model_site = XSP_SITE(XSP_LEVEL_MODEL, "model");
    static xsp_site layer_site = XSP_SITE(XSP_LEVEL_LAYER, "layer");
    xsp_span frame = xsp_begin(&frame_site);
    for (int i = 0; i < kIterations; ++i) {
      xsp_span model = xsp_begin(&model_site);
      for (int k = 0; k < kLayers; ++k) {
        xsp_span layer = xsp_begin(&layer_site);
        xsp_end(&layer);
      }
      xsp_end(&model);
      if (i % 1000 == 0) xsp_flush();
    }
    xsp_end(&frame);
  });
  database_ = Database::create(path("a.xsp"));
  ASSERT_TRUE(database_.ok()) << database_.error().text;
  const size_t before = peak_bytes();
  EXPECT_EQ(ingest_all(sample_run()).spans, kIterations * (kLayers + 1u) + 1);
  // If the ingest held all spans, they alone would take 384 MB.
  EXPECT_LT(peak_bytes() - before, 350u << 20);
  EXPECT_EQ(fact("roots"), Value(int64_t{1}));
  EXPECT_EQ(fact("unattributed"), Value(int64_t{0}));
  // Several threads have written the spans: none is missing or doubled.
  EXPECT_EQ(one("SELECT count(DISTINCT span_id) FROM span"),
            Value(int64_t{kIterations * (kLayers + 1) + 1}));
  EXPECT_EQ(one("SELECT count(*) FROM span s JOIN span m ON s.model_id = m.span_id "
                "WHERE s.start_ns < m.start_ns OR m.level <> 2"),
            Value(int64_t{0}));
}

TEST_F(IngestTest, NamesAreStoredOnceAndTheViewPutsThemBack) {
  record([] { infer(); });
  RunInfo run = sample_run();
  ingest_all(run);
  const Value names = one("SELECT string_agg(name, ' ' ORDER BY span_id) FROM span");
  EXPECT_EQ(one("SELECT value FROM evaluation WHERE key = 'xsp_format'"), Value(std::string("2")));
  EXPECT_EQ(one("SELECT count(*) FROM duckdb_columns() WHERE table_name = 'span_row' "
                "AND data_type = 'VARCHAR'"),
            Value(int64_t{0}));
  // Another run has its own sites, with the same names.
  run.run_id = 2;
  ingest_all(run);
  EXPECT_EQ(one("SELECT string_agg(name, ' ' ORDER BY span_id) FROM span WHERE run_id = 2"), names);
  EXPECT_EQ(one("SELECT count(*) FROM span a JOIN span b USING (site_id) "
                "WHERE a.run_id <> b.run_id"),
            Value(int64_t{0}));
}

TEST_F(IngestTest, ARunWithoutATraceIsARow) {
  RunInfo run = sample_run();
  run.status = "failed";
  run.reason = "the worker died: signal 9: give it more memory";
  ASSERT_TRUE(record_run(*database_, run).ok());
  EXPECT_EQ(one("SELECT status || ' ' || reason FROM run"),
            Value(std::string("failed the worker died: signal 9: give it more memory")));
}

// Emits the span of a process that starts at `start_ns` of UNIX time. `parent` is its parent's id.
void be_process(const char* name, int64_t start_ns, int64_t duration_ns, int64_t parent) {
  const xsp_value value = {xsp_intern_key("parent_process"), XSP_VALUE_INT, {.as_int = parent}};
  xsp_complete_span span = {};
  span.struct_size = sizeof span;
  span.site_id = xsp_new_site(XSP_LEVEL_APPLICATION, name, "process");
  span.start_ns = start_ns;
  span.duration_ns = duration_ns;
  span.values = &value;
  span.value_count = 1;
  xsp_emit(&span);
}

TEST_F(IngestTest, TheTracesOfARunsProcessesShareItsNumbersAndFindTheirParents) {
  const int64_t now = xsp_now_ns();
  // All three carry this process's id, so their times tell which one is the parent.
  record([&] { be_process("first", now, 1000, -1); }, "a.xtrace");
  record(
      [&] {
        be_process("second", now + 2000, 1000, -1);
        infer();
      },
      "b.xtrace");
  record(
      [&] {
        be_process("child", now + 2100, 100, getpid());
        infer();
      },
      "c.xtrace");
  const auto report =
      ingest(*database_, sample_run(),
             std::vector<fs::path>{path("a.xtrace"), path("b.xtrace"), path("c.xtrace")});
  ASSERT_TRUE(report.ok()) << report.error().text;
  EXPECT_EQ(one("SELECT count(*) FROM span"), Value(static_cast<int64_t>(report->spans)));
  EXPECT_EQ(fact("spans"), Value(static_cast<int64_t>(report->spans)));
  EXPECT_EQ(one("SELECT count(DISTINCT span_id) = count(*) FROM span"), Value(true));
  EXPECT_EQ(one("SELECT p.name FROM span s JOIN span p ON p.span_id = s.parent_id "
                "WHERE s.name = 'child'"),
            Value(std::string("second")));
  EXPECT_EQ(one("SELECT count(*) FROM span WHERE name IN ('first', 'second') "
                "AND parent_id IS NOT NULL"),
            Value(int64_t{0}));
  // Facts of sites and spans stay with their own process.
  EXPECT_EQ(one("SELECT count(*) FROM attribute JOIN span USING (span_id) "
                "WHERE key = 'input_shapes' AND name <> 'conv1'"),
            Value(int64_t{0}));
  EXPECT_EQ(one("SELECT count(*) FROM attribute JOIN span USING (span_id) "
                "WHERE key = 'input_shapes' AND name = 'conv1'"),
            Value(int64_t{12}));
  EXPECT_EQ(one("SELECT count(*) FROM span s JOIN span p ON p.span_id = s.parent_id "
                "WHERE s.name = 'conv1' AND p.level = 2 AND s.model_id = p.span_id"),
            Value(int64_t{12}));
}

// The layers of a program's processes are the same layers. What one process tells apart, as each
// new site of this one, stays apart.
TEST_F(IngestTest, EqualSitesOfAllTracesAreOne) {
  const auto with_bytes = [](double bytes) {
    const uint32_t site = xsp_new_site(XSP_LEVEL_LAYER, "gelu", "Gelu");
    xsp_site_counter(site, "output_bytes", bytes);
    xsp_complete_span span = {};
    span.struct_size = sizeof span;
    span.site_id = site;
    span.start_ns = xsp_now_ns();
    span.duration_ns = 10;
    xsp_emit(&span);
  };
  record(
      [&] {
        infer();
        with_bytes(64);
        with_bytes(64);
      },
      "a.xtrace");
  record(
      [&] {
        with_bytes(32);
        with_bytes(64);
        infer();
      },
      "b.xtrace");
  const std::vector<fs::path> traces = {path("a.xtrace"), path("b.xtrace")};
  ASSERT_TRUE(ingest(*database_, sample_run(), traces).ok());
  EXPECT_EQ(one("SELECT string_agg(concat(name, ' ', n), ', ' ORDER BY name, n) FROM (SELECT name, "
                "count(*) AS n FROM span WHERE level = 3 GROUP BY site_id, name)"),
            Value(std::string(
                "a loop with a long name 12, conv1 12, gelu 1, gelu 1, gelu 1, gelu 1, relu 12")));
  EXPECT_EQ(one("SELECT string_agg(concat(name, ' ', value), ', ' ORDER BY name, value) FROM "
                "site_counter JOIN (SELECT DISTINCT site_id, name AS site FROM span) USING "
                "(site_id) WHERE site = 'gelu' OR site = 'conv1'"),
            Value(std::string(
                "output_bytes 32.0, output_bytes 64.0, output_bytes 64.0, output_bytes 64.0, "
                "output_bytes 512.0")));
}

TEST_F(IngestTest, ProcessesThatRanOneAfterAnotherCountOnWhereTheLastEnded) {
  record([] { infer(); }, "a.xtrace");
  record([] { infer(); }, "b.xtrace");
  RunInfo run = sample_run();
  run.warmup_iterations = 3;
  RunTrace first, second;
  first.path = path("a.xtrace");
  first.warmup_iterations = 1;
  second.path = path("b.xtrace");
  second.warmup_iterations = 2;
  second.iterations_before = 5;
  second.warmup_before = 1;
  ASSERT_TRUE(ingest(*database_, run, std::vector<RunTrace>{first, second}).ok());
  // Each process has six iterations: the first has one warm-up and five measured, the second has
  // two and four. The numbers of warm-up iterations are negative, and no number occurs twice.
  EXPECT_EQ(one("SELECT string_agg(iteration, ' ' ORDER BY start_ns) FROM span WHERE level = 2"),
            Value(std::string("-1 0 1 2 3 4 -3 -2 5 6 7 8")));
  EXPECT_EQ(one("SELECT count(*) FROM span s JOIN span p ON p.span_id = s.model_id "
                "WHERE s.level = 3 AND s.iteration = p.iteration"),
            one("SELECT count(*) FROM span WHERE level = 3"));
}

}  // namespace
}  // namespace xsp::store

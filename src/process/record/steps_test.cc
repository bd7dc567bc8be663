// Tests steps, and levels that are switched while a recording goes on.
#include <unistd.h>

#include <thread>

#include "process/record/testing.h"
#include "process/record/watcher.h"

namespace xsp::process {
namespace {

using trace::Reader;

std::vector<ReadSpan> steps_in(const Reader& reader, const std::string& kind) {
  std::vector<ReadSpan> steps;
  for (const ReadSpan& span : read_spans(reader)) {
    if (span.type != "step") continue;
    for (const trace::Site& site : reader.sites()) {
      const std::vector<std::pair<std::string, std::string>> wanted = {{"step_of", kind}};
      if (site.type == "step" && site.attributes == wanted && site.name == span.name) {
        steps.push_back(span);
      }
    }
  }
  return steps;
}

// Returns the kinds of steps in a trace, each with the number of its steps.
std::map<std::string, int> kinds_in(const Reader& reader) {
  std::map<std::string, int> kinds;
  trace::SpanBatch batch;
  for (size_t s = 0; s < reader.streams().size(); ++s) {
    for (size_t c = 0; c < reader.streams()[s].chunk_count; ++c) {
      EXPECT_TRUE(reader.read(s, c, &batch).ok());
      for (const uint32_t site : batch.site) {
        for (const auto& [key, value] : reader.sites().at(site - 1).attributes) {
          if (key == "step_of") ++kinds[value];
        }
      }
    }
  }
  return kinds;
}

// The recording counts steps from the first one on, so each test runs in a process of its own.
template <typename Body>
void in_own_process(Body body) {
  const auto test = [&body] {
    body();
    return testing::Test::HasFailure() ? 1 : 0;
  };
  EXPECT_EQ(in_child(test), 0);
}

TEST(Steps, AModelsCallsAreStepsWhateverTheLevels) {
  in_own_process([] {
    Scratch scratch;
    ASSERT_EQ(start(scratch.path(), 0, 0, XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)), 0);
    for (int i = 0; i < 5; ++i) {
      xsp_step_begin(XSP_STEP_MODEL);
      xsp_step_end(XSP_STEP_MODEL);
    }
    ASSERT_EQ(xsp_stop(), 0);
    const Reader reader = open_trace(scratch.path());
    const auto steps = steps_in(reader, "model");
    ASSERT_EQ(steps.size(), 5u);
    for (size_t i = 0; i < 5; ++i) {
      ASSERT_EQ(steps[i].values.size(), 1u);
      EXPECT_EQ(steps[i].values[0].key, "step");
      EXPECT_EQ(steps[i].values[0].value.as_int, static_cast<int64_t>(i));
      EXPECT_EQ(steps[i].level, uint32_t{XSP_LEVEL_APPLICATION});
    }
    EXPECT_TRUE(reader.open_spans().empty());
  });
}

TEST(Steps, TheStrongestKindCounts) {
  in_own_process([] {
    Scratch scratch;
    ASSERT_EQ(start(scratch.path()), 0);
    for (int i = 0; i < 4; ++i) {
      xsp_step_begin(XSP_STEP_MODEL);
      xsp_step_end(XSP_STEP_MODEL);
      xsp_step_end(XSP_STEP_OPTIMIZER);
    }
    xsp_step();
    xsp_step_end(XSP_STEP_OPTIMIZER);
    xsp_step();
    ASSERT_EQ(xsp_stop(), 0);
    // The first optimiser's step begins with the first call.
    const std::map<std::string, int> wanted = {{"model", 1}, {"optimizer", 4}, {"mark", 2}};
    EXPECT_EQ(kinds_in(open_trace(scratch.path())), wanted);
  });
}

TEST(Steps, AnotherThreadsAreNotCounted) {
  in_own_process([] {
    Scratch scratch;
    ASSERT_EQ(start(scratch.path()), 0);
    xsp_step();
    std::thread([] { xsp_step(); }).join();
    xsp_step();
    ASSERT_EQ(xsp_stop(), 0);
    const std::map<std::string, int> wanted = {{"mark", 1}};
    EXPECT_EQ(kinds_in(open_trace(scratch.path())), wanted);
  });
}

TEST(Steps, WithoutARecordingTheyAreNothing) {
  in_own_process([] {
    xsp_step();
    xsp_step_begin(XSP_STEP_MODEL);
    xsp_step_end(XSP_STEP_MODEL);
    xsp_step_end(77);
    Scratch scratch;
    ASSERT_EQ(start(scratch.path()), 0);
    xsp_step_begin(77);
    ASSERT_EQ(xsp_stop(), 0);
    EXPECT_TRUE(read_spans(open_trace(scratch.path())).empty());
  });
}

TEST(Levels, TheTraceSaysFromWhenOnWhichWereRecorded) {
  Scratch scratch;
  constexpr uint32_t kBoth = XSP_LEVEL_BIT(XSP_LEVEL_MODEL) | XSP_LEVEL_BIT(XSP_LEVEL_LAYER);
  ASSERT_EQ(start(scratch.path(), 0, 0, kBoth), 0);
  xsp_set_levels(kBoth);  // no change
  const int64_t before_ns = xsp_now_ns();
  xsp_set_levels(0);
  xsp_set_levels(XSP_LEVEL_BIT(XSP_LEVEL_MODEL));
  const int64_t after_ns = xsp_now_ns();
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  const std::vector<trace::LevelsFrom>& levels = reader.levels();
  ASSERT_EQ(levels.size(), 3u);
  constexpr int64_t kSlackNs = 100'000;
  EXPECT_EQ(levels[0].levels, kBoth);
  EXPECT_LE(levels[0].start_ns, before_ns + kSlackNs);
  EXPECT_EQ(levels[1].levels, 0u);
  EXPECT_GE(levels[1].start_ns, before_ns - kSlackNs);
  EXPECT_EQ(levels[2].levels, XSP_LEVEL_BIT(XSP_LEVEL_MODEL));
  EXPECT_LE(levels[2].start_ns, after_ns + kSlackNs);
  EXPECT_GE(levels[2].start_ns, levels[1].start_ns);
}

TEST(Levels, ATraceWhoseLevelsStayHasNoMark) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_TRUE(open_trace(scratch.path()).levels().empty());
}

int passes = 0;
uint64_t last_step = 0;
void count_pass() { __atomic_add_fetch(&passes, 1, __ATOMIC_RELAXED); }
void note_step(uint32_t, uint64_t number) {
  last_step = number;
  xsp_set_levels(number >= 2 ? XSP_LEVELS_ALL : 0);
}
uint32_t levels_of_child() { return 0; }
constexpr Watcher kWatcher = {count_pass, note_step, levels_of_child,
                              [](int) {}, [] {},     XSP_LEVELS_ALL};

TEST(Watcher, SwitchesBetweenTwoSteps) {
  in_own_process([] {
    Scratch scratch;
    xsp_set_watcher(&kWatcher);
    ASSERT_EQ(start(scratch.path()), 0);
    static xsp_site model = XSP_SITE(XSP_LEVEL_MODEL, "model");
    for (int i = 0; i < 5; ++i) {
      xsp_step_begin(XSP_STEP_MODEL);
      xsp_span span = xsp_begin(&model);
      xsp_end(&span);
      xsp_step_end(XSP_STEP_MODEL);
    }
    EXPECT_EQ(last_step, 4u);
    while (__atomic_load_n(&passes, __ATOMIC_RELAXED) == 0) usleep(1000);
    xsp_set_watcher(nullptr);
    ASSERT_EQ(xsp_stop(), 0);
    int models = 0;
    for (const ReadSpan& span : read_spans(open_trace(scratch.path()))) {
      models += span.name == "model" ? 1 : 0;
    }
    EXPECT_EQ(models, 3);
  });
}

// Returns the names and the levels of the spans that a watched program leaves, each with its count.
std::map<std::string, int> watched(void (*program)()) {
  Scratch scratch;
  EXPECT_EQ(start(scratch.path()), 0);
  xsp_set_watcher(&kWatcher);
  program();
  xsp_set_watcher(nullptr);
  EXPECT_EQ(xsp_stop(), 0);
  std::map<std::string, int> names;
  const Reader reader = open_trace(scratch.path());
  EXPECT_TRUE(reader.open_spans().empty());
  for (const ReadSpan& span : read_spans(reader)) {
    ++names[span.name];
    for (const ReadValue& value : span.values) ++names[span.name + "." + value.key];
  }
  return names;
}

using Names = std::map<std::string, int>;
xsp_site inner_site = XSP_SITE(XSP_LEVEL_MODEL, "inner");

// Levels are switched on before the third call: the first two are steps all the same, and nothing
// else is.
TEST(Watcher, OutermostSpansOfTheLevelModelAreSteps) {
  in_own_process([] {
    const Names names = watched([] {
      const uint32_t key = xsp_intern_key("size");
      xsp_switch_levels(0, 0);
      for (int i = 0; i < 5; ++i) {
        xsp_span model = xsp_begin(&model_site);
        xsp_span_batch(&model, 4);
        xsp_span_int(&model, key, 7);
        xsp_span_text(&model, key, "seven");
        xsp_span inner = xsp_begin(&inner_site);
        xsp_span layer = xsp_begin(&layer_site);
        // The program calls an observed framework here.
        xsp_step_begin(XSP_STEP_MODEL);
        xsp_step_end(XSP_STEP_MODEL);
        xsp_end(&layer);
        xsp_end(&inner);
        xsp_end(&model);
      }
    });
    EXPECT_EQ(last_step, 4u);
    EXPECT_EQ(names, (Names{{"step", 5},
                            {"step.step", 5},
                            {"model", 3},
                            {"model.batch", 3},
                            {"model.size", 6},
                            {"inner", 3},
                            {"layer", 3}}));
  });
}

TEST(Watcher, SpansWithinAStepThatAFrameworkTellsOfAreNone) {
  in_own_process([] {
    const Names names = watched([] {
      for (int i = 0; i < 4; ++i) {
        xsp_step_begin(XSP_STEP_MODEL);
        for (int j = 0; j < 2; ++j) {
          xsp_span span = xsp_begin(&inner_site);
          xsp_end(&span);
        }
        xsp_step_end(XSP_STEP_MODEL);
      }
    });
    EXPECT_EQ(last_step, 3u);
    EXPECT_EQ(names.at("step"), 4);
  });
}

// The call is left open within a span of the application, which ends.
TEST(Watcher, ACallThatNeverEndsIsTheLastStepUntilTheNext) {
  in_own_process([] {
    const Names names = watched([] {
      static xsp_site request_site = XSP_SITE(XSP_LEVEL_APPLICATION, "request");
      for (int i = 0; i < 8; ++i) {
        xsp_span request = xsp_begin(&request_site);
        xsp_span model = xsp_begin(&model_site);
        if (i != 4) xsp_end(&model);
        xsp_end(&request);
      }
    });
    EXPECT_EQ(names.at("model"), 8 - 2 - 1) << "levels are off before the third";
    EXPECT_EQ(names.at("step"), 7);
  });
}

TEST(Watcher, WhereSomebodyWatchesAProgramStartsAndStopsNothing) {
  in_own_process([] {
    EXPECT_EQ(xsp_is_watched(), 0);
    const Names names = watched([] {
      EXPECT_EQ(xsp_is_watched(), 1);
      xsp_switch_levels(XSP_LEVELS_ALL, 0);
      EXPECT_EQ(xsp_start(nullptr), 0);
      for (int i = 0; i < 2; ++i) {
        xsp_span span = xsp_begin(&layer_site);
        xsp_end(&span);
        EXPECT_EQ(xsp_stop(), 0);
      }
    });
    EXPECT_EQ(names, (Names{{"layer", 2}}));
    EXPECT_EQ(xsp_is_watched(), 0);
  });
}

// Without a watcher, spans of the level model are not steps: the trace holds only the program's own
// spans.
TEST(Steps, SpansOfTheLevelModelAreNoneWhereNobodyWatches) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  for (int i = 0; i < 3; ++i) {
    xsp_span span = xsp_begin(&model_site);
    xsp_end(&span);
  }
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_EQ(read_spans(open_trace(scratch.path())).size(), 3u);
}

TEST(Watcher, AChildOfForkIsAskedBeforeItsFirstSpan) {
  if (!kForksWithThreads) GTEST_SKIP() << "ThreadSanitizer, or an emulator";
  Scratch scratch;
  xsp_set_watcher(&kWatcher);
  ASSERT_EQ(start(scratch.path()), 0);
  static xsp_site site = XSP_SITE(XSP_LEVEL_LAYER, "layer");
  in_own_process([] {
    for (int i = 0; i < 3; ++i) {
      xsp_span span = xsp_begin(&site);
      xsp_end(&span);
    }
    EXPECT_FALSE(xsp_is_recorded(XSP_LEVEL_LAYER));
    xsp_set_watcher(nullptr);
    EXPECT_EQ(xsp_stop(), 0);
  });
  xsp_set_watcher(nullptr);
  ASSERT_EQ(xsp_stop(), 0);
  size_t traces = 0;
  for (const auto& file : std::filesystem::directory_iterator(scratch.folder())) {
    EXPECT_TRUE(read_spans(open_trace(file.path())).empty()) << file.path();
    ++traces;
  }
  EXPECT_EQ(traces, 2u);
}

}  // namespace
}  // namespace xsp::process

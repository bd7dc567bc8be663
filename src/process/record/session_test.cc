// Round trips: the reader finds exactly what a program emitted.
#include <errno.h>
#include <gtest/gtest.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "process/record/testing.h"

namespace xsp::process {
namespace {

using trace::Reader;

TEST(Session, SpansAsTheyHappen) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  static xsp_site outer = XSP_SITE(XSP_LEVEL_MODEL, "model");
  static xsp_site inner = {"conv1", "Conv", XSP_LEVEL_LAYER, 0};
  const int64_t before_ns = xsp_now_ns();
  for (int i = 0; i < 100; ++i) {
    xsp_span a = xsp_begin(&outer);
    xsp_span b = xsp_begin(&inner);
    xsp_end(&b);
    xsp_end(&a);
  }
  const int64_t after_ns = xsp_now_ns();
  ASSERT_EQ(xsp_stop(), 0);

  const Reader reader = open_trace(scratch.path());
  EXPECT_TRUE(reader.is_complete());
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
  EXPECT_TRUE(reader.open_spans().empty());
  EXPECT_EQ(reader.process_id(), static_cast<uint32_t>(getpid()));
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 200u);
  // The test compares two clocks: each conversion may be off by the width of an anchor's sample.
  constexpr int64_t kSlackNs = 100'000;
  for (size_t i = 0; i < spans.size(); i += 2) {
    EXPECT_EQ(spans[i].name, "conv1");
    EXPECT_EQ(spans[i].type, "Conv");
    EXPECT_EQ(spans[i].level, uint32_t{XSP_LEVEL_LAYER});
    EXPECT_EQ(spans[i + 1].name, "model");
    EXPECT_EQ(spans[i].thread, static_cast<uint32_t>(gettid()));
    EXPECT_GE(spans[i].start_ns, spans[i + 1].start_ns);
    EXPECT_LE(spans[i].end_ns, spans[i + 1].end_ns);
    EXPECT_LE(spans[i].start_ns, spans[i].end_ns);
    EXPECT_GE(spans[i].start_ns, before_ns - kSlackNs);
    EXPECT_LE(spans[i].end_ns, after_ns + kSlackNs);
    if (i > 0) {
      EXPECT_GE(spans[i].end_ns, spans[i - 1].end_ns);
    }
  }
  const xsp_counts result = counts();
  EXPECT_EQ(result.recorded, 200u);
  EXPECT_EQ(result.dropped_ring + result.dropped_file + result.dropped_site, 0u);
}

TEST(Session, ValuesOfEveryKind) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  static xsp_site site = XSP_SITE(XSP_LEVEL_MODEL, "m");
  const uint32_t a = xsp_intern_key("a");
  const uint32_t b = xsp_intern_key("b");
  const std::string long_text(5000, 'x');
  const std::string cut_inside_character = std::string(4095, 'y') + "\xc3\xa4";
  for (int i = -3; i < 3; ++i) {
    xsp_span outer = xsp_begin(&site);
    xsp_span_int(&outer, a, i);
    xsp_span_text(&outer, b, "first");
    xsp_span inner = xsp_begin(&site);
    xsp_span_double(&inner, a, i * 0.5);
    xsp_span_text(&inner, b, long_text.c_str());
    xsp_span_text(&outer, b, "while another is open");
    xsp_end(&inner);
    xsp_span_counter(&outer, a, 1e300);
    xsp_span_int(&outer, a, INT64_MIN);
    xsp_span_double(&outer, a, -0.0);
    xsp_span_text(&outer, b, cut_inside_character.c_str());
    xsp_span_text(&outer, b, "");
    xsp_end(&outer);
  }
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 12u);
  for (int i = -3; i < 3; ++i) {
    const auto& inner = spans[static_cast<size_t>(i + 3) * 2].values;
    const auto& outer = spans[static_cast<size_t>(i + 3) * 2 + 1].values;
    ASSERT_EQ(inner.size(), 2u);
    EXPECT_EQ(inner[0].value.kind, uint32_t{XSP_VALUE_DOUBLE});
    EXPECT_EQ(inner[0].value.as_double, i * 0.5);
    EXPECT_EQ(inner[1].value.as_text, long_text.substr(0, 4096));
    ASSERT_EQ(outer.size(), 8u);
    EXPECT_EQ(outer[0].key, "a");
    EXPECT_EQ(outer[0].value.as_int, i);
    EXPECT_EQ(outer[1].key, "b");
    EXPECT_EQ(outer[1].value.as_text, "first");
    EXPECT_EQ(outer[2].value.as_text, "while another is open");
    EXPECT_EQ(outer[3].value.kind, uint32_t{XSP_VALUE_COUNTER});
    EXPECT_EQ(outer[3].value.as_double, 1e300);
    EXPECT_EQ(outer[4].value.as_int, INT64_MIN);
    EXPECT_TRUE(signbit(outer[5].value.as_double));
    EXPECT_EQ(outer[6].value.as_text, std::string(4095, 'y'));
    EXPECT_EQ(outer[7].value.as_text, "");
  }
}

// Only the span that has waiting values takes the long path.
TEST(Session, PlainSpansInsideOneWhoseValuesWait) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  const uint32_t a = xsp_intern_key("a");
  xsp_site site = XSP_SITE(XSP_LEVEL_LAYER, "layer");
  xsp_span outer = xsp_begin(&site);
  xsp_span_text(&outer, a, "a text before the first number");
  xsp_span_int(&outer, a, 7);
  for (int i = 0; i < 100; ++i) {
    xsp_span inner = xsp_begin(&site);
    if (i % 2 == 1) xsp_span_int(&inner, a, i);
    xsp_end(&inner);
  }
  xsp_end(&outer);
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 101u);
  for (size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(spans[i].values.size(), i % 2);
    if (i % 2 == 1) {
      EXPECT_EQ(spans[i].values[0].value.as_int, static_cast<int64_t>(i));
    }
  }
  ASSERT_EQ(spans[100].values.size(), 2u);
  EXPECT_EQ(spans[100].values[0].value.kind, uint32_t{XSP_VALUE_INT});
  EXPECT_EQ(spans[100].values[0].value.as_int, 7);
  EXPECT_EQ(spans[100].values[1].value.as_text, "a text before the first number");
}

TEST(Session, SpansWithGivenTimes) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  const uint32_t kernel = xsp_intern_site(XSP_LEVEL_KERNEL, "gemm", "kernel");
  const uint32_t key = xsp_intern_key("grid");
  const int64_t base_ns = xsp_now_ns();
  for (int i = 0; i < 1000; ++i) {
    xsp_value values[3] = {};
    values[0].key = values[1].key = values[2].key = key;
    values[0].kind = XSP_VALUE_INT;
    values[0].value.as_int = -i;
    values[1].kind = XSP_VALUE_TEXT;
    values[1].value.as_text = "a text that is longer than one slot can hold, by some words";
    values[2].kind = XSP_VALUE_COUNTER;
    values[2].value.as_double = 0.25 * i;
    xsp_complete_span span = {};
    span.struct_size = sizeof span;
    span.site_id = kernel;
    span.start_ns = base_ns - 1000 * i;  // the ends are not in order
    span.duration_ns = i == 7 ? -5 : i;
    span.values = values;
    span.value_count = static_cast<size_t>(i % 4);
    if (i % 2 == 0) span.correlation_id = 1'000'000'000'000u + static_cast<uint64_t>(i);
    if (i % 3 == 0) span.device = 2;
    if (i % 5 == 0) span.thread = 77;
    if (i % 7 == 0) span.stream = static_cast<uint32_t>(i) + 1;
    xsp_emit(&span);
  }
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 1000u);
  for (int i = 0; i < 1000; ++i) {
    const ReadSpan& span = spans[static_cast<size_t>(i)];
    EXPECT_TRUE(span.is_given);
    EXPECT_EQ(span.start_ns, base_ns - 1000 * i);
    EXPECT_EQ(span.end_ns - span.start_ns, i == 7 ? 0 : i);
    EXPECT_EQ(span.correlation_id, i % 2 == 0 ? 1'000'000'000'000u + static_cast<uint64_t>(i) : 0);
    EXPECT_EQ(span.device, i % 3 == 0 ? 2u : 0u);
    EXPECT_EQ(span.thread, i % 5 == 0 ? 77u : static_cast<uint32_t>(gettid()));
    EXPECT_EQ(span.stream, i % 7 == 0 ? static_cast<uint32_t>(i) + 1 : 0u);
    ASSERT_EQ(span.values.size(), static_cast<size_t>(i % 4));
    if (i % 4 > 0) {
      EXPECT_EQ(span.values[0].value.as_int, -i);
    }
    if (i % 4 > 1) {
      EXPECT_EQ(span.values[1].value.as_text.size(), 59u);
    }
    if (i % 4 > 2) {
      EXPECT_EQ(span.values[2].value.as_double, 0.25 * i);
    }
  }
}

TEST(Session, FactsOfSitesGoToEveryRecording) {
  const uint32_t site = xsp_intern_site(XSP_LEVEL_LAYER, "facts", "Conv");
  EXPECT_EQ(xsp_intern_site(XSP_LEVEL_LAYER, "facts", "Conv"), site);
  EXPECT_NE(xsp_intern_site(XSP_LEVEL_LAYER, "facts", "Gemm"), site);
  EXPECT_NE(xsp_intern_site(XSP_LEVEL_KERNEL, "facts", "Conv"), site);
  EXPECT_EQ(xsp_intern_site(XSP_LEVEL_LAYER, "f", ""),
            xsp_intern_site(XSP_LEVEL_LAYER, "f", nullptr));
  xsp_site_attribute(site, "input_shapes", "old");
  xsp_site_attribute(site, "input_shapes", "[[1,3,224,224]]");
  xsp_site_counter(site, "output_bytes", 12.5);
  for (int round = 0; round < 2; ++round) {
    Scratch scratch;
    ASSERT_EQ(start(scratch.path()), 0);
    ASSERT_EQ(xsp_stop(), 0);
    const Reader reader = open_trace(scratch.path());
    const trace::Site& found = reader.sites().at(site - 1);
    EXPECT_EQ(found.id, site);
    EXPECT_EQ(found.name, "facts");
    EXPECT_EQ(found.type, "Conv");
    ASSERT_EQ(found.attributes.size(), 1u);
    EXPECT_EQ(found.attributes[0].second, "[[1,3,224,224]]");
    ASSERT_EQ(found.counters.size(), 1u);
    EXPECT_EQ(found.counters[0].second, 12.5);
  }
}

TEST(Session, NewSitesShareANameAndKeepTheirOwnFacts) {
  const uint32_t known = xsp_intern_site(XSP_LEVEL_KERNEL, "shared", "kernel");
  const uint32_t first = xsp_new_site(XSP_LEVEL_KERNEL, "shared", "kernel");
  const uint32_t second = xsp_new_site(XSP_LEVEL_KERNEL, "shared", "kernel");
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, known);
  EXPECT_NE(second, known);
  EXPECT_NE(first, second);
  EXPECT_EQ(xsp_intern_site(XSP_LEVEL_KERNEL, "shared", "kernel"), known);
  EXPECT_NE(xsp_intern_site(XSP_LEVEL_KERNEL, "shared", "memcpy"), known);
  EXPECT_EQ(xsp_new_site(0, "shared", "kernel"), 0u);
  xsp_site_attribute(first, "grid", "[1,1,1]");
  xsp_site_attribute(second, "grid", "[2,1,1]");
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  xsp_complete_span given = {};
  given.struct_size = sizeof given;
  for (const uint32_t site : {known, first, second}) {
    given.site_id = site;
    xsp_emit(&given);
  }
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 3u);
  for (const ReadSpan& span : spans) {
    EXPECT_EQ(span.name, "shared");
    EXPECT_EQ(span.type, "kernel");
  }
  EXPECT_TRUE(reader.sites().at(known - 1).attributes.empty());
  EXPECT_EQ(reader.sites().at(first - 1).attributes.at(0).second, "[1,1,1]");
  EXPECT_EQ(reader.sites().at(second - 1).attributes.at(0).second, "[2,1,1]");
}

TEST(Session, LevelsAreSwitchedAtRunTime) {
  Scratch scratch;
  static xsp_site model = XSP_SITE(XSP_LEVEL_MODEL, "switched model");
  static xsp_site layer = XSP_SITE(XSP_LEVEL_LAYER, "switched layer");
  ASSERT_EQ(start(scratch.path(), 0, 0, XSP_LEVEL_BIT(XSP_LEVEL_MODEL)), 0);
  xsp_span a = xsp_begin(&model);
  xsp_span b = xsp_begin(&layer);
  EXPECT_EQ(b.start, 0u);
  xsp_end(&b);
  xsp_complete_span given = {};
  given.struct_size = sizeof given;
  given.site_id = xsp_intern_site(XSP_LEVEL_LAYER, "given", nullptr);
  xsp_emit(&given);
  xsp_set_levels(XSP_LEVEL_BIT(XSP_LEVEL_LAYER));
  xsp_span c = xsp_begin(&layer);
  xsp_end(&c);
  xsp_emit(&given);
  xsp_end(&a);  // begun while its level was recorded
  xsp_span d = xsp_begin(&model);
  xsp_end(&d);
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  std::vector<std::string> names;
  for (const ReadSpan& span : read_spans(reader)) names.push_back(span.name);
  EXPECT_EQ(names, (std::vector<std::string>{"switched layer", "switched model", "given"}));
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
}

// Another profiler hands over spans later that it measured before the levels were switched.
TEST(Session, GivenSpansOfALevelThatWasRecordedAreTakenAfterwards) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path(), 0, 0, XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)), 0);
  xsp_complete_span given = {};
  given.struct_size = sizeof given;
  for (const uint32_t levels : {XSP_LEVEL_BIT(XSP_LEVEL_MODEL), 0u}) {
    xsp_set_levels(levels);
    given.site_id = xsp_intern_site(XSP_LEVEL_KERNEL, "late", nullptr);
    xsp_emit(&given);
    given.site_id = xsp_intern_site(XSP_LEVEL_LAYER, "never recorded", nullptr);
    xsp_emit(&given);
  }
  ASSERT_EQ(xsp_stop(), 0);
  xsp_emit(&given);
  std::vector<std::string> names;
  for (const ReadSpan& span : read_spans(open_trace(scratch.path()))) names.push_back(span.name);
  EXPECT_EQ(names, (std::vector<std::string>{"late", "late"}));
}

TEST(Session, ReportedLossesAreSummedBySourceAndCause) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  xsp_count_loss("cupti", "buffer full", 12);
  xsp_flush();
  xsp_count_loss("cupti", "buffer full", 3);
  xsp_count_loss("cupti", "unknown record", 1);
  xsp_count_loss("cupti", "nothing", 0);
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  EXPECT_EQ(loss(reader, "buffer full", "cupti"), 15u);
  EXPECT_EQ(loss(reader, "unknown record", "cupti"), 1u);
  EXPECT_EQ(reader.losses().size(), 2u);
}

TEST(Session, TraceparentIsCheckedAndKept) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  static xsp_site site = XSP_SITE(XSP_LEVEL_APPLICATION, "request");
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const char* bad[] = {"",
                       "00",
                       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
                       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7x01",
                       "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                       "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                       "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                       "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};
  xsp_span span = xsp_begin(&site);
  for (const char* text : bad) EXPECT_EQ(xsp_span_traceparent(&span, text), EINVAL) << text;
  EXPECT_EQ(xsp_span_traceparent(&span, nullptr), EINVAL);
  EXPECT_EQ(xsp_span_traceparent(&span, good.c_str()), 0);
  EXPECT_EQ(xsp_span_traceparent(&span, ("cc" + good.substr(2) + "-later").c_str()), 0);
  xsp_end(&span);
  ASSERT_EQ(xsp_stop(), 0);
  const std::vector<ReadSpan> spans = read_spans(open_trace(scratch.path()));
  ASSERT_EQ(spans.size(), 1u);
  ASSERT_EQ(spans[0].values.size(), 2u);
  EXPECT_EQ(spans[0].values[0].key, "traceparent");
  EXPECT_EQ(spans[0].values[0].value.as_text, good);
}

TEST(Session, StartSaysWhyItFails) {
  Scratch scratch;
  EXPECT_EQ(start(scratch.path("absent/folder.xtrace")), ENOENT);
  EXPECT_EQ(start(scratch.folder().string()), EISDIR);
  const std::string pipe = scratch.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(start(pipe), EINVAL);
  EXPECT_EQ(start(scratch.path(), 100'000), EINVAL);  // no power of two
  EXPECT_EQ(start(scratch.path(), 1024), EINVAL);
  EXPECT_EQ(start(scratch.path(std::string(5000, 'n'))), ENAMETOOLONG);
  // After these errors nothing is recorded, and a valid start succeeds.
  static xsp_site site = XSP_SITE(XSP_LEVEL_MODEL, "m");
  EXPECT_EQ(xsp_begin(&site).start, 0u);
  ASSERT_EQ(start(scratch.path()), 0);
  EXPECT_EQ(start(scratch.path("b.xtrace")), EALREADY);
  EXPECT_EQ(xsp_stop(), 0);
  EXPECT_EQ(xsp_stop(), 0);
}

TEST(Session, NothingSetsErrno) {
  Scratch scratch;
  errno = 4711;
  EXPECT_NE(start(scratch.path("absent/folder.xtrace")), 0);
  EXPECT_EQ(start(scratch.path()), 0);
  static xsp_site site = XSP_SITE(XSP_LEVEL_MODEL, "m");
  xsp_span span = xsp_begin(&site);
  xsp_end(&span);
  xsp_flush();
  EXPECT_EQ(xsp_stop(), 0);
  EXPECT_EQ(errno, 4711);
}

TEST(Session, OpenSpansAreKnownWhenItStops) {
  Scratch scratch;
  static xsp_site a = XSP_SITE(XSP_LEVEL_MODEL, "open a");
  static xsp_site b = XSP_SITE(XSP_LEVEL_LAYER, "open b");
  ASSERT_EQ(start(scratch.path()), 0);
  xsp_span outer = xsp_begin(&a);
  xsp_span inner = xsp_begin(&b);
  ASSERT_EQ(xsp_stop(), 0);
  // Their ends are ignored, also in a new recording that did not see them begin.
  xsp_end(&inner);
  Scratch other;
  ASSERT_EQ(start(other.path()), 0);
  xsp_end(&outer);
  xsp_span whole = xsp_begin(&a);
  xsp_end(&whole);
  ASSERT_EQ(xsp_stop(), 0);

  const Reader reader = open_trace(scratch.path());
  ASSERT_EQ(reader.open_spans().size(), 2u);
  EXPECT_EQ(reader.sites()[reader.open_spans()[0].site - 1].name, "open a");
  EXPECT_EQ(reader.sites()[reader.open_spans()[1].site - 1].name, "open b");
  EXPECT_LE(reader.open_spans()[0].start_ns, reader.open_spans()[1].start_ns);
  EXPECT_LE(reader.open_spans()[1].start_ns, reader.last_ns());
  EXPECT_EQ(reader.open_spans()[0].thread, static_cast<uint32_t>(gettid()));
  EXPECT_TRUE(read_spans(reader).empty());
  const Reader second = open_trace(other.path());
  EXPECT_EQ(count_spans(second), 1u);
  EXPECT_TRUE(second.open_spans().empty());
  EXPECT_TRUE(second.losses().empty()) << all_losses(second);
}

TEST(Session, SpansThatEndOutOfOrderAreRecorded) {
  Scratch scratch;
  static xsp_site site = XSP_SITE(XSP_LEVEL_LAYER, "disorder");
  ASSERT_EQ(start(scratch.path()), 0);
  const uint32_t key = xsp_intern_key("k");
  xsp_span a = xsp_begin(&site);
  xsp_span b = xsp_begin(&site);
  [[maybe_unused]] xsp_span never_ended = xsp_begin(&site);
  xsp_span_text(&never_ended, key, "lost with its span");
  std::thread([&] { xsp_end(&b); }).join();
  xsp_end(&a);
  // This nesting is deeper than the stack keeps.
  std::vector<xsp_span> deep;
  for (int i = 0; i < 1000; ++i) deep.push_back(xsp_begin(&site));
  for (size_t i = deep.size(); i-- > 0;) xsp_end(&deep[i]);
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  EXPECT_EQ(count_spans(reader), 1002u);
  EXPECT_TRUE(reader.open_spans().empty());
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
}

TEST(Session, TheEnvironmentDecides) {
  const int status = in_child([] {
    Scratch scratch;
    const std::string path = scratch.path("e%p.xtrace");
    setenv("XSP_TRACE", path.c_str(), 1);
    setenv("XSP_LEVELS", "model,no such level", 1);
    if (xsp_start(nullptr) != EINVAL) return 1;
    setenv("XSP_LEVELS", "model,layer", 1);
    setenv("XSP_DISABLE", "1", 1);
    if (xsp_start(nullptr) != 0 || xsp_recorded_levels != 0) return 2;
    setenv("XSP_DISABLE", "0", 1);
    if (xsp_start(nullptr) != 0) return 3;
    if (xsp_recorded_levels != (XSP_LEVEL_BIT(XSP_LEVEL_MODEL) | XSP_LEVEL_BIT(XSP_LEVEL_LAYER))) {
      return 4;
    }
    if (xsp_stop() != 0) return 5;
    const std::string made = scratch.path("e" + std::to_string(getpid()) + ".xtrace");
    return std::filesystem::exists(made) ? 0 : 6;
  });
  EXPECT_TRUE(is_success(status)) << WEXITSTATUS(status);
}

// The monotonic clock is used where there is no counter to trust, as on other processors.
TEST(Session, TheMonotonicClockServesAsWell) {
  Scratch scratch;
  static xsp_site site = XSP_SITE(XSP_LEVEL_MODEL, "timed otherwise");
  setenv("XSP_CLOCK", "monotonic", 1);
  const int error = start(scratch.path());
  unsetenv("XSP_CLOCK");
  ASSERT_EQ(error, 0);
  const int64_t before_ns = xsp_now_ns();
  xsp_span outer = xsp_begin(&site);
  xsp_span inner = xsp_begin(&site);
  usleep(2000);
  xsp_end(&inner);
  xsp_end(&outer);
  const int64_t after_ns = xsp_now_ns();
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_GE(spans[0].end_ns - spans[0].start_ns, 2'000'000);
  EXPECT_GE(spans[1].start_ns, before_ns);
  EXPECT_LE(spans[1].end_ns, after_ns);
  EXPECT_TRUE(reader.losses().empty()) << all_losses(reader);
}

}  // namespace
}  // namespace xsp::process

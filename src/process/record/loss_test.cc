// Every span that cannot be recorded is counted, and the counts are in the file.
#include <errno.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "process/record/testing.h"
#include "shared/base/limits.h"

namespace xsp::process {
namespace {

using trace::Reader;

constexpr uint64_t kMany = 1'000'000;

void emit_spans(uint64_t count) {
  static xsp_site site = XSP_SITE(XSP_LEVEL_LAYER, "burst");
  for (uint64_t i = 0; i < count; ++i) {
    xsp_span span = xsp_begin(&site);
    xsp_end(&span);
  }
}

TEST(Loss, FullRing) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path(), kRingBytesMin), 0);
  emit_spans(kMany);  // fills the ring hundreds of times within a few passes of the drainer
  ASSERT_EQ(xsp_stop(), 0);
  const xsp_counts result = counts();
  EXPECT_GT(result.dropped_ring, 0u);
  EXPECT_EQ(result.recorded + result.dropped_ring, kMany);
  const Reader reader = open_trace(scratch.path());
  EXPECT_EQ(loss(reader, "ring full"), result.dropped_ring);
  EXPECT_EQ(count_spans(reader), result.recorded);
  EXPECT_EQ(reader.losses().size(), 1u) << all_losses(reader);
}

TEST(Loss, SpanThatNoRingCanHold) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path(), kRingBytesMin), 0);
  const uint32_t key = xsp_intern_key("text");
  const std::string text(4096, 't');
  std::vector<xsp_value> values(20);
  for (xsp_value& value : values) {
    value.key = key;
    value.kind = XSP_VALUE_TEXT;
    value.value.as_text = text.c_str();
  }
  xsp_complete_span span = {};
  span.struct_size = sizeof span;
  span.site_id = xsp_intern_site(XSP_LEVEL_KERNEL, "wordy", nullptr);
  span.values = values.data();
  span.value_count = values.size();
  xsp_emit(&span);
  span.value_count = 5;
  xsp_emit(&span);
  ASSERT_EQ(xsp_stop(), 0);
  EXPECT_EQ(counts().dropped_ring, 1u);
  const Reader reader = open_trace(scratch.path());
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 1u);
  ASSERT_EQ(spans[0].values.size(), 5u);
  EXPECT_EQ(spans[0].values[4].value.as_text, text);
}

// The file takes the spans that fit; the others are counted. Returns 0 if all checks hold.
int record_into_little_room(const std::string& path, uint64_t file_bytes, int error) {
  if (start(path, 0, file_bytes) != 0) return 1;
  for (int i = 0; i < 20; ++i) {
    emit_spans(kMany / 20);
    xsp_flush();
  }
  if (xsp_stop() != error) return 2;
  const xsp_counts result = counts();
  if (result.dropped_file == 0 || result.recorded + result.dropped_ring != kMany) return 3;
  Result<Reader> reader = Reader::open(path);
  if (!reader.ok() || !reader->is_complete()) return 4;
  if (count_spans(*reader) + result.dropped_file != result.recorded) return 5;
  if (loss(*reader, "file not writable or at its limit") != result.dropped_file) return 6;
  if (loss(*reader, "ring full") != result.dropped_ring) return 7;
  return reader->losses().size() == (result.dropped_ring == 0 ? 1u : 2u) ? 0 : 8;
}

TEST(Loss, FileAtItsLimit) {
  Scratch scratch;
  constexpr uint64_t kLimit = 100'000;
  EXPECT_EQ(record_into_little_room(scratch.path(), kLimit, EFBIG), 0);
  EXPECT_LE(std::filesystem::file_size(scratch.path()), kLimit);
}

TEST(Loss, ProcessAtItsFileSizeLimit) {
  Scratch scratch;
  const int status = in_child([&] {
    const rlimit limit = {100'000, 100'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 20;
    return record_into_little_room(scratch.path(), 0, EFBIG);
  });
  EXPECT_TRUE(is_success(status)) << status;  // SIGXFSZ did not kill it
}

TEST(Loss, FullDisk) {
  Scratch scratch;
  constexpr int kNoMount = 77;
  const int status = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNoMount;
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("none", scratch.folder().c_str(), "tmpfs", 0, "size=128k") != 0) return kNoMount;
    return record_into_little_room(scratch.path(), 0, ENOSPC);
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMount) {
    GTEST_SKIP() << "may not mount a small file system here";
  }
  EXPECT_TRUE(is_success(status)) << status;
}

TEST(Loss, FullTableOfSites) {
  Scratch scratch;
  const int status = in_child([&] {
    static xsp_site late = XSP_SITE(XSP_LEVEL_LAYER, "too late");
    uint32_t last = 0;
    uint64_t refused = 0;
    for (uint32_t i = 0; i < kSiteMax + 5; ++i) {
      last = xsp_intern_site(XSP_LEVEL_LAYER, ("s" + std::to_string(i)).c_str(), nullptr);
      refused += last == 0 ? 1 : 0;
    }
    if (last != 0 || refused < 5) return 1;
    if (start(scratch.path()) != 0) return 2;
    for (int i = 0; i < 10; ++i) {
      xsp_span span = xsp_begin(&late);
      xsp_span_int(&span, xsp_intern_key("k"), i);
      if (i % 2 == 0) xsp_span_text(&span, xsp_intern_key("t"), "text");
      xsp_end(&span);
    }
    xsp_complete_span given = {};
    given.struct_size = sizeof given;
    for (given.site_id = 0; given.site_id < 3; ++given.site_id) xsp_emit(&given);
    given.site_id = UINT32_MAX;
    xsp_emit(&given);
    if (xsp_stop() != 0) return 3;
    if (counts().dropped_site != 12 || counts().recorded != 2) return 4;
    const Reader reader = open_trace(scratch.path());
    if (count_spans(reader) != 2 || reader.losses().size() != 2) return 5;
    if (loss(reader, "site, key or fact of a site") != 1) return 6;
    return loss(reader, "site table full") == 12 ? 0 : 7;
  });
  EXPECT_TRUE(is_success(status)) << WEXITSTATUS(status);
}

TEST(Loss, ValuesWithoutRoomOrKey) {
  Scratch scratch;
  ASSERT_EQ(start(scratch.path()), 0);
  static xsp_site site = XSP_SITE(XSP_LEVEL_LAYER, "valuable");
  const uint32_t key = xsp_intern_key("k");
  xsp_span span = xsp_begin(&site);
  constexpr int kValues = 2000;
  for (int i = 0; i < kValues; ++i) xsp_span_int(&span, key, i);
  xsp_span_int(&span, 0, 1);
  xsp_span_text(&span, 60'000, "no such key");
  xsp_end(&span);
  // Emits more values than a group holds, and one of an unknown kind.
  std::vector<xsp_value> values(5000);
  for (xsp_value& value : values) value = {key, XSP_VALUE_INT, {3}};
  values[1].kind = 17;
  xsp_complete_span given = {};
  given.struct_size = sizeof given;
  given.site_id = xsp_intern_site(XSP_LEVEL_LAYER, "given", nullptr);
  given.values = values.data();
  given.value_count = values.size();
  xsp_emit(&given);
  ASSERT_EQ(xsp_stop(), 0);
  const Reader reader = open_trace(scratch.path());
  const std::vector<ReadSpan> spans = read_spans(reader);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_GT(spans[0].values.size(), 100u);
  EXPECT_GT(spans[1].values.size(), 4000u);
  EXPECT_EQ(spans[0].values.size() + spans[1].values.size() + loss(reader, "value of a span"),
            kValues + 2 + values.size());
  EXPECT_EQ(reader.losses().size(), 1u) << all_losses(reader);
}

}  // namespace
}  // namespace xsp::process

// Tests files that are cut short, damaged, foreign or from the future.
#include "shared/trace/reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>

#include "shared/trace/testing.h"
#include "xsp/xsp.h"

namespace xsp::trace {
namespace {

uint64_t loss(const Reader& reader, const std::string& cause) {
  for (const Loss& loss : reader.losses()) {
    if (loss.cause == cause) return loss.count;
  }
  return 0;
}

// Returns the ordinals of all readable spans. Fails the test if open() offered a chunk that is
// unreadable.
std::set<int64_t> ordinals(const Reader& reader) {
  std::set<int64_t> found;
  SpanBatch batch;
  for (size_t s = 0; s < reader.streams().size(); ++s) {
    for (size_t c = 0; c < reader.streams()[s].chunk_count; ++c) {
      const Status status = reader.read(s, c, &batch);
      EXPECT_TRUE(status.ok()) << status.error().text;
      for (const SpanValue& value : batch.values) found.insert(value.as_int);
    }
  }
  return found;
}

constexpr uint32_t kChunks = 5;
constexpr uint32_t kSpansOfChunk = 20;

// Writes a small trace: tables, a lane, chunks of spans, an anchor, a reported loss, an open span.
void write_small(const std::string& path, bool is_complete = true) {
  TestFile file(path);
  file.append_tables(3);
  LaneBlock block = {};
  block.lane = 1;
  block.thread = 7;
  block.state = static_cast<uint32_t>(is_complete ? LaneState::kFree : LaneState::kLive);
  block.accepted_and_depth = uint64_t{kChunks * kSpansOfChunk} << LaneBlock::kDepthBits;
  file.append_lane(block);
  for (uint32_t c = 0; c < kChunks; ++c) file.append_spans(c * kSpansOfChunk, kSpansOfChunk);
  file.append_bytes(ChunkType::kAnchor, Anchor{100'000, 100'000, 1'099'000});
  file.append(ChunkType::kLoss, {1, 'c', 1, 'x', 9});
  struct {
    OpenHeader header;
    OpenEntry entry;
  } open = {{1, 7, 1, 0}, {50'000, 2, 0}};
  file.append_bytes(ChunkType::kOpen, open);
  file.session()->drained = kChunks * kSpansOfChunk;
  if (is_complete) file.complete();
}

TEST(Reader, SaysThatAFileIsCutShortInItsFirstPage) {
  ScratchFolder scratch;
  for (const uintmax_t size : {64, 126, 173, 4095}) {
    write_small(scratch.path());
    std::filesystem::resize_file(scratch.path(), size);
    const Result<Reader> reader = Reader::open(scratch.path());
    ASSERT_TRUE(reader.ok()) << size << ": " << reader.error().text;
    EXPECT_EQ(loss(*reader, "file cut short in its first page"), 1u) << size;
  }
}

TEST(Reader, ReadsASmallTrace) {
  ScratchFolder scratch;
  write_small(scratch.path());
  const Result<Reader> reader = Reader::open(scratch.path());
  ASSERT_TRUE(reader.ok()) << reader.error().text;
  EXPECT_TRUE(reader->is_complete());
  EXPECT_EQ(reader->process_id(), 42u);
  EXPECT_EQ(ordinals(*reader).size(), size_t{kChunks * kSpansOfChunk});
  ASSERT_EQ(reader->streams().size(), 1u);
  EXPECT_EQ(reader->streams()[0].thread, 7u);
  EXPECT_EQ(reader->streams()[0].span_count, uint64_t{kChunks * kSpansOfChunk});
  ASSERT_EQ(reader->open_spans().size(), 1u);
  EXPECT_EQ(reader->open_spans()[0].site, 2u);
  EXPECT_EQ(reader->open_spans()[0].start_ns, 1'049'000);
  EXPECT_EQ(reader->first_ns(), 1'000'000);
  EXPECT_EQ(reader->last_ns(), 1'099'000);
  EXPECT_EQ(reader->keys(), (std::vector<std::string>{"", "k", "l"}));
  EXPECT_EQ(loss(*reader, "x"), 9u);
  EXPECT_EQ(reader->losses().size(), 1u);
  SpanBatch batch;
  ASSERT_TRUE(reader->read(0, 1, &batch).ok());
  EXPECT_EQ(batch.start_ns[0], 1'000'000 + 1000 + 10 * kSpansOfChunk);
  EXPECT_EQ(batch.end_ns[0] - batch.start_ns[0], 1);
}

TEST(Reader, CutShortAtEveryByte) {
  ScratchFolder scratch;
  write_small(scratch.path());
  const std::vector<uint8_t> whole = read_bytes(scratch.path());
  ASSERT_LT(whole.size(), 20'000u);
  size_t spans_after = kChunks * kSpansOfChunk;
  for (size_t size = whole.size(); size-- > 0;) {
    std::filesystem::resize_file(scratch.path(), size);
    const Result<Reader> reader = Reader::open(scratch.path());
    if (!reader.ok()) {
      ASSERT_LT(size, sizeof(FileHeader)) << reader.error().text;
      EXPECT_EQ(reader.error().code, Code::kCorrupt);
      EXPECT_EQ(reader.error().text.find('\n'), std::string::npos);
      continue;
    }
    const size_t spans = ordinals(*reader).size();
    ASSERT_LE(spans, spans_after) << "what is intact is readable, and was with a byte more";
    ASSERT_GE(spans + kSpansOfChunk, spans_after);
    spans_after = spans;
    ASSERT_EQ(spans % kSpansOfChunk, 0u);
    if (size < kPageBytes) continue;  // facts in the first page may be lost
    ASSERT_GT(loss(*reader, "damaged chunk"), 0u) << size;
    ASSERT_EQ(loss(*reader, "span in a damaged chunk"), kChunks * kSpansOfChunk - spans) << size;
  }
  EXPECT_EQ(spans_after, 0u);
}

TEST(Reader, OneFlippedBitCostsOneChunkAtMost) {
  ScratchFolder scratch;
  write_small(scratch.path());
  const std::vector<uint8_t> whole = read_bytes(scratch.path());
  std::fstream file(scratch.path(), std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&file](size_t at, uint8_t byte) {
    file.seekp(static_cast<long>(at)).put(static_cast<char>(byte)).flush();
  };
  size_t undamaged = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    if (at > 0) put(at - 1, whole[at - 1]);
    put(at, whole[at] ^ static_cast<uint8_t>(1u << (at % 8)));
    const Result<Reader> reader = Reader::open(scratch.path());
    ASSERT_TRUE(reader.ok()) << at << ": " << reader.error().text;
    const std::set<int64_t> found = ordinals(*reader);
    const uint64_t unknown = loss(*reader, "span of an unknown site");
    ASSERT_GE(found.size() + unknown, (kChunks - 1) * size_t{kSpansOfChunk}) << at;
    if (at < kPageBytes || reader->losses().size() == 1) {
      ++undamaged;  // padding, or counters of the first page, which have no checksum
      ASSERT_EQ(found.size(), size_t{kChunks * kSpansOfChunk}) << at;
      continue;
    }
    if (loss(*reader, "damaged chunk") == 0) continue;  // a counter of a lane's block
    ASSERT_EQ(found.size() + unknown + loss(*reader, "span in a damaged chunk"),
              size_t{kChunks * kSpansOfChunk})
        << at;
  }
  EXPECT_LT(undamaged, 3 * size_t{kPageBytes});
}

TEST(Reader, AnyDamageLeavesAReadableFileOrOneLine) {
  ScratchFolder scratch;
  write_small(scratch.path(), false);
  const std::vector<uint8_t> whole = read_bytes(scratch.path());
  std::mt19937 random(11);
  for (int i = 0; i < 500; ++i) {
    std::vector<uint8_t> damaged = whole;
    for (uint64_t n = 1 + random() % 20; n > 0; --n) {
      damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    }
    if (random() % 3 == 0) {
      const auto at = static_cast<long>(random() % damaged.size());
      damaged.erase(damaged.begin() + at,
                    damaged.begin() + std::min(at + static_cast<long>(random() % 300),
                                               static_cast<long>(damaged.size())));
    }
    write_bytes(scratch.path("any"), damaged);
    const Result<Reader> reader = Reader::open(scratch.path("any"));
    if (reader.ok()) {
      ordinals(*reader);
    } else {
      EXPECT_EQ(reader.error().text.find('\n'), std::string::npos);
    }
  }
}

TEST(Reader, ADamagedTableCostsItsSpansAndSaysSo) {
  ScratchFolder scratch;
  write_small(scratch.path());
  std::vector<uint8_t> bytes = read_bytes(scratch.path());
  bytes[kPageBytes + sizeof(ChunkHeader) + 5] ^= 1;
  write_bytes(scratch.path(), bytes);
  const Result<Reader> reader = Reader::open(scratch.path());
  ASSERT_TRUE(reader.ok()) << reader.error().text;
  EXPECT_TRUE(ordinals(*reader).empty());
  EXPECT_EQ(loss(*reader, "span of an unknown site"), uint64_t{kChunks * kSpansOfChunk});
  EXPECT_EQ(loss(*reader, "open span of an unknown site"), 1u);
  EXPECT_EQ(loss(*reader, "damaged chunk"), 1u);
}

TEST(Reader, TheCopyOfTheHeaderServes) {
  ScratchFolder scratch;
  write_small(scratch.path());
  std::vector<uint8_t> bytes = read_bytes(scratch.path());
  std::fill_n(bytes.begin(), sizeof(FileHeader), uint8_t{0});
  write_bytes(scratch.path(), bytes);
  ASSERT_TRUE(Reader::open(scratch.path()).ok());
  std::fill_n(bytes.begin() + kHeaderCopyOffset, sizeof(FileHeader), uint8_t{0});
  write_bytes(scratch.path(), bytes);
  EXPECT_FALSE(Reader::open(scratch.path()).ok());
}

void expect_error(const std::string& path, Code code, const std::string& part) {
  const Result<Reader> reader = Reader::open(path);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, code);
  EXPECT_NE(reader.error().text.find(part), std::string::npos) << reader.error().text;
  EXPECT_EQ(reader.error().text.find('\n'), std::string::npos);
}

TEST(Reader, SaysWhatIsWrongWithAFile) {
  ScratchFolder scratch;
  expect_error(scratch.path("absent"), Code::kFailed, "cannot be opened: No such file");
  expect_error(scratch.path("."), Code::kFailed, "not a regular file");
  write_bytes(scratch.path("empty"), {});
  expect_error(scratch.path("empty"), Code::kCorrupt, "is empty");
  const std::string text =
      "not a trace, but a text that is long enough for a header, and then some";
  write_bytes(scratch.path("foreign"), {text.begin(), text.end()});
  expect_error(scratch.path("foreign"), Code::kCorrupt, "not an .xtrace file");
  write_bytes(scratch.path("short"), {'h', 'i'});
  expect_error(scratch.path("short"), Code::kCorrupt, "not an .xtrace file");
  write_bytes(scratch.path("zeros"), std::vector<uint8_t>(100'000));
  expect_error(scratch.path("zeros"), Code::kCorrupt, "not an .xtrace file");
  { TestFile future(scratch.path("future"), kFormatVersion + 1); }
  expect_error(scratch.path("future"), Code::kCorrupt, "version 2");
  expect_error(scratch.path("future"), Code::kCorrupt, "use a newer xsp");
}

TEST(Reader, CountsWhatAProcessLostWhenItDied) {
  ScratchFolder scratch;
  {
    TestFile file(scratch.path());
    file.append_tables(3);
    LaneBlock block = {};
    block.lane = 1;
    block.thread = 7;
    block.state = static_cast<uint32_t>(LaneState::kLive);
    // The block has 25 accepted spans, one of them after the last write to the file, and two open
    // ones.
    block.accepted_and_depth = 25 << LaneBlock::kDepthBits | 2;
    block.accepted_given = 3;
    block.dropped_ring = 5;
    block.open[0] = {4000, 1, 0};
    block.open[1] = {5000, 3, 0};
    file.append_lane(block);
    file.append_spans(0, 10);
    file.append_spans(14, 10);  // four could not be written
    file.append_spans(0, 3, true);
    file.session()->drained = 27;
    file.session()->dropped_file = 4;
    file.session()->latest[1] = {9000, 9000, 1'008'000};
    file.session()->anchor_count = 1;
  }
  const Result<Reader> reader = Reader::open(scratch.path());
  ASSERT_TRUE(reader.ok()) << reader.error().text;
  EXPECT_FALSE(reader->is_complete());
  EXPECT_EQ(loss(*reader, "ring full"), 5u);
  EXPECT_EQ(loss(*reader, "file not writable or at its limit"), 4u);
  EXPECT_EQ(loss(*reader, "process ended before writing"), 1u);
  EXPECT_EQ(reader->losses().size(), 3u);
  EXPECT_EQ(reader->last_ns(), 1'008'000);
  ASSERT_EQ(reader->open_spans().size(), 2u);
  EXPECT_EQ(reader->open_spans()[1].site, 3u);
  EXPECT_EQ(reader->open_spans()[1].start_ns, 1'004'000);
  EXPECT_EQ(reader->streams().size(), 2u);
}

}  // namespace
}  // namespace xsp::trace

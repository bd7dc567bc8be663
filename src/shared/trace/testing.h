// Helpers for the tests of the trace: hand-made ring contents, and files written without a
// recording.
#ifndef XSP_SHARED_TRACE_TESTING_H_
#define XSP_SHARED_TRACE_TESTING_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "shared/trace/encode.h"
#include "shared/trace/writer.h"

namespace xsp::trace {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string form = (std::filesystem::temp_directory_path() / "xsp_test_XXXXXX").string();
    folder_ = mkdtemp(form.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name = "a.xtrace") const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

inline std::vector<uint8_t> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Slots as a thread would have written them.
class RingContents {
 public:
  static constexpr uint64_t kMask = (1u << 17) - 1;
  RingContents() : slots_(kMask + 1) {}

  void add(Record record, const std::vector<Extra>& extras = {},
           const std::vector<std::string>& texts = {}) {
    const uint64_t at = end_++;
    size_t text = 0;
    for (Extra extra : extras) {
      std::string rest;
      if (extra.kind == XSP_VALUE_TEXT) {
        rest = texts[text++];
        extra.text_bytes = static_cast<uint32_t>(rest.size());
        const size_t inside = std::min(rest.size(), sizeof extra.text);
        std::memcpy(extra.text, rest.data(), inside);
        rest.erase(0, inside);
      }
      std::memcpy(slot(end_++), &extra, sizeof extra);
      for (; !rest.empty(); rest.erase(0, kSlotBytes)) {
        std::memcpy(slot(end_++), rest.data(), std::min<size_t>(rest.size(), kSlotBytes));
      }
    }
    record.bits = static_cast<uint16_t>(record.bits | ((end_ - at - 1) << Record::kExtraShift));
    *slot(at) = record;
    groups_.push_back(at);
  }
  Slots slots() const { return {slots_.data(), kMask}; }
  const std::vector<uint64_t>& groups() const { return groups_; }
  // Sets the begin of the next group, so that groups wrap around the ring's end.
  void skip_to(uint64_t position) { end_ = position; }

 private:
  Record* slot(uint64_t position) { return &slots_[position & kMask]; }

  std::vector<Record> slots_;
  std::vector<uint64_t> groups_;
  uint64_t end_ = 0;
};

// Writes an .xtrace chunk by chunk.
class TestFile {
 public:
  explicit TestFile(const std::string& path, uint32_t version = kFormatVersion) {
    FileHeader header = {};
    std::memcpy(header.magic, kFileMagic, sizeof header.magic);
    header.byte_order = kByteOrder;
    header.version = version;
    header.process_id = 42;
    header.tick_source = static_cast<uint32_t>(TickSource::kMonotonic);
    header.ticks_per_s = 1'000'000'000;
    header.first = {1000, 1000, 1'000'000};
    EXPECT_EQ(writer_.open(path.c_str(), header, 0), 0);
  }
  ~TestFile() { writer_.close(); }

  SessionBlock* session() { return writer_.session(); }
  void complete() { session()->state = static_cast<uint64_t>(FileState::kComplete); }

  void append(ChunkType type, const std::vector<uint8_t>& payload) {
    std::vector<uint8_t> buffer(sizeof(ChunkHeader) + payload.size() + kChunkAlignment);
    std::copy(payload.begin(), payload.end(), buffer.begin() + sizeof(ChunkHeader));
    ASSERT_EQ(writer_.append(type, buffer.data(), payload.size()), 0);
  }
  template <typename T>
  void append_bytes(ChunkType type, const T& value) {
    std::vector<uint8_t> payload(sizeof value);
    std::memcpy(payload.data(), &value, sizeof value);
    append(type, payload);
  }
  // Defines sites 1 ... count of the level layer, and the keys 1 and 2.
  void append_tables(uint32_t site_count) {
    std::vector<uint8_t> payload;
    for (uint32_t id = 1; id <= site_count; ++id) {
      const std::string name = "site " + std::to_string(id);
      std::vector<uint8_t> entry = {static_cast<uint8_t>(TableEntry::kSite),
                                    static_cast<uint8_t>(id), XSP_LEVEL_LAYER,
                                    static_cast<uint8_t>(name.size())};
      entry.insert(entry.end(), name.begin(), name.end());
      entry.push_back(0);
      payload.push_back(static_cast<uint8_t>(entry.size()));
      payload.insert(payload.end(), entry.begin(), entry.end());
    }
    for (uint8_t id = 1; id <= 2; ++id) {
      const uint8_t name = static_cast<uint8_t>('j' + id);
      const uint8_t entry[] = {4, static_cast<uint8_t>(TableEntry::kKey), id, 1, name};
      payload.insert(payload.end(), std::begin(entry), std::end(entry));
    }
    append(ChunkType::kTable, payload);
  }
  void append_lane(const LaneBlock& block) {
    void* page = mmap(nullptr, block_area_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    uint64_t offset = 0;
    bool is_mapped = false;
    EXPECT_EQ(writer_.append_lane(page, block, &offset, &is_mapped), 0);
    munmap(page, block_area_bytes());
  }
  // Appends spans of site 1 + i % 3 on lane 1, one tick long, from the ordinal on; each has its
  // ordinal under key 1.
  void append_spans(uint64_t ordinal, uint32_t count, bool is_given = false) {
    RingContents ring;
    for (uint64_t i = ordinal; i < ordinal + count; ++i) {
      Record record = {};
      record.start = 2000 + 10 * i;
      record.duration = 1;
      record.site_id = static_cast<uint32_t>(1 + i % 3);
      record.key = 1;
      record.payload = i;
      record.bits = is_given ? Record::kGiven : uint16_t{0};
      ring.add(record);
    }
    std::vector<uint8_t> memory(SpanEncoder::kMemoryBytes);
    SpanEncoder encoder(memory.data());
    encoder.begin(1, 7, is_given);
    for (const uint64_t at : ring.groups()) ASSERT_TRUE(encoder.add(ring.slots(), at));
    std::vector<uint8_t> payload(kChunkPayloadBytesMax);
    payload.resize(encoder.finish(ordinal, 0, 0, payload.data()));
    append(ChunkType::kSpans, payload);
  }

 private:
  Writer writer_;
};

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_TESTING_H_

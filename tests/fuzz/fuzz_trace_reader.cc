// Reads any bytes as an .xtrace: the reader returns a part of it, or one line that says why not,
// and never crashes.
//
// Checksums would keep a fuzzer out of the parts that they protect. So the input describes a file
// in a simpler form, which gets correct checksums: the first page's fields, then chunks. Inputs
// whose first byte is 'R' are used unchanged.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "shared/base/crc32c.h"
#include "shared/trace/format.h"
#include "shared/trace/reader.h"
#include "tests/fuzz/require.h"

namespace {

using xsp::trace::BlockTimes;
using xsp::trace::ChunkHeader;
using xsp::trace::ChunkType;
using xsp::trace::FileHeader;
using xsp::trace::OpenSpan;
using xsp::trace::Reader;
using xsp::trace::SessionBlock;
using xsp::trace::SpanBatch;
using xsp::trace::SpanValue;

// Represents an input, which is consumed from its front.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool is_empty() const { return at_ == end_; }
  void take(void* out, size_t size) {
    if (size == 0) return;
    const size_t there = std::min(size, static_cast<size_t>(end_ - at_));
    std::memset(out, 0, size);
    if (there > 0) std::memcpy(out, at_, there);
    at_ += there;
  }
  template <typename T>
  T take() {
    T value;
    take(&value, sizeof value);
    return value;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

void append_bytes(std::vector<uint8_t>* file, const void* bytes, size_t size) {
  const uint8_t* from = static_cast<const uint8_t*>(bytes);
  file->insert(file->end(), from, from + size);
}

// Appends a chunk of the input: a byte of type, two of size, the payload.
void append_chunk(Input* input, uint32_t sequence, std::vector<uint8_t>* file) {
  ChunkHeader header = {};
  header.magic = xsp::trace::kChunkMagic;
  header.type = input->take<uint8_t>();
  header.sequence = sequence;
  std::vector<uint8_t> payload(input->take<uint16_t>());
  input->take(payload.data(), payload.size());
  if (header.type == static_cast<uint16_t>(ChunkType::kLane))
    payload.resize(xsp::trace::kPageBytes);
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.payload_crc = xsp::crc32c(payload.data(), payload.size());
  header.header_crc = xsp::crc32c(&header, offsetof(ChunkHeader, header_crc));
  append_bytes(file, &header, sizeof header);
  append_bytes(file, payload.data(), payload.size());
  file->resize((file->size() + xsp::trace::kChunkAlignment - 1) / xsp::trace::kChunkAlignment *
               xsp::trace::kChunkAlignment);
}

std::vector<uint8_t> build_file(Input input) {
  FileHeader header = {};
  std::memcpy(header.magic, xsp::trace::kFileMagic, sizeof header.magic);
  header.byte_order = xsp::trace::kByteOrder;
  header.version = xsp::trace::kFormatVersion;
  header.tick_source = 1;
  header.ticks_per_s = input.take<uint64_t>();
  header.first = input.take<xsp::Anchor>();
  header.crc = xsp::crc32c(&header, offsetof(FileHeader, crc));
  const SessionBlock session = input.take<SessionBlock>();
  std::vector<uint8_t> file;
  append_bytes(&file, &header, sizeof header);
  append_bytes(&file, &session, sizeof session);
  file.resize(xsp::trace::kPageBytes);
  for (uint32_t sequence = 0; !input.is_empty(); ++sequence) append_chunk(&input, sequence, &file);
  return file;
}

void read_all(const std::string& path) {
  const xsp::Result<Reader> reader = Reader::open(path);
  if (!reader.ok()) {
    require(reader.error().text.find('\n') == std::string::npos);
    return;
  }
  SpanBatch batch;
  for (size_t s = 0; s < reader->streams().size(); ++s) {
    for (size_t c = 0; c < reader->streams()[s].chunk_count; ++c) {
      std::vector<BlockTimes> blocks;
      const bool has_times = reader->scan(s, c, 7, &blocks).ok();
      if (!reader->read(s, c, &batch).ok()) continue;
      require(has_times);
      require(batch.end_ns.size() == batch.size() && batch.stream.size() == batch.size());
      for (size_t i = 0; i < batch.size(); ++i) {
        require(batch.start_ns[i] <= batch.end_ns[i]);
        require(batch.site[i] >= 1 && batch.site[i] <= reader->sites().size());
      }
      for (const SpanValue& value : batch.values) {
        require(value.span < batch.size() && value.key < reader->keys().size());
      }
    }
  }
  for (const OpenSpan& span : reader->open_spans()) {
    require(span.site >= 1 && span.site <= reader->sites().size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("fuzz.xtrace", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  std::vector<uint8_t> bytes(data, data + size);
  if (size == 0 || data[0] != 'R') {
    bytes = build_file(Input(data, size));
  } else {
    bytes.erase(bytes.begin());
  }
  if (ftruncate(file, 0) != 0) abort();
  if (pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) abort();
  read_all(path);
  return 0;
}

#include "importers/shared/trace_files.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "shared/base/limits.h"
#include "shared/trace/encode.h"
#include "shared/trace/varint.h"
#include "shared/trace/writer.h"

namespace xsp::importers {
namespace {

namespace fs = std::filesystem;
using trace::ChunkType;
using trace::Extra;
using trace::Record;
using trace::TableEntry;

// A power of two that holds the largest group of slots.
constexpr size_t kSlots = 8192;
static_assert(kSlots > trace::kExtraSlotsMax + 1);
constexpr size_t kTableSpillBytes = 1 << 20;

void put_number(std::vector<uint8_t>* out, uint64_t number) {
  uint8_t bytes[trace::kVarintBytesMax];
  out->insert(out->end(), bytes, trace::put_varint(bytes, number));
}

void put_text(std::vector<uint8_t>* out, std::string_view text) {
  text = text.substr(0, kNameBytesMax);
  put_number(out, text.size());
  out->insert(out->end(), text.begin(), text.end());
}

}  // namespace

class TraceFiles::File {
 public:
  File(fs::path path, uint32_t run, uint32_t process)
      : path_(std::move(path)),
        run_(run),
        process_(process),
        memory_(trace::SpanEncoder::kMemoryBytes),
        encoder_(memory_.data()),
        slots_(kSlots) {}
  ~File() { writer_.close(); }
  const fs::path& path() const { return path_; }
  uint32_t run() const { return run_; }

  // `first_ns` is the start of the first span: the trace's own clock begins there.
  Status open(int64_t first_ns) {
    trace::FileHeader header = {};
    std::memcpy(header.magic, trace::kFileMagic, sizeof header.magic);
    header.byte_order = trace::kByteOrder;
    header.version = trace::kFormatVersion;
    header.process_id = process_;
    header.tick_source = static_cast<uint32_t>(TickSource::kMonotonic);
    header.ticks_per_s = 1'000'000'000;
    header.first = {static_cast<uint64_t>(first_ns), first_ns, first_ns};
    const int error = writer_.open(path_.c_str(), header, 0);
    encoder_.begin(kLane, 0, true);
    return check(error);
  }

  Status add(const ForeignSpan& span) {
    XSP_TRY(const uint32_t site, site_of(span));
    last_ns_ = std::max(last_ns_, span.start_ns + span.duration_ns);
    if (span.is_open) {
      open_[span.thread].push_back({static_cast<uint64_t>(span.start_ns), site, 0});
      return Ok{};
    }
    XSP_CHECK_OK(fill_slots(span, site));
    const trace::Slots slots = {slots_.data(), kSlots - 1};
    if (encoder_.add(slots, 0)) return Ok{};
    XSP_CHECK_OK(spill());
    if (!encoder_.add(slots, 0)) return failed(path_.string() + ": a span has too many values");
    return Ok{};
  }

  Status put_loss(uint64_t count) {
    std::vector<uint8_t> loss;
    put_text(&loss, "import");
    put_text(&loss, "event that is no span");
    put_number(&loss, count);
    return append(ChunkType::kLoss, loss.data(), loss.size());
  }

  Status close() {
    XSP_CHECK_OK(spill());
    XSP_CHECK_OK(put_open());
    writer_.session()->state = static_cast<uint64_t>(trace::FileState::kComplete);
    return check(writer_.write_session());
  }

 private:
  static constexpr uint32_t kLane = 1;

  Status check(int error) const {
    if (error == 0) return Ok{};
    return failed(path_.string() + ": cannot be written: " + std::strerror(error));
  }

  Status append(ChunkType type, const uint8_t* payload, size_t bytes) {
    buffer_.resize(sizeof(trace::ChunkHeader) + bytes + trace::kChunkAlignment);
    std::copy(payload, payload + bytes, buffer_.begin() + sizeof(trace::ChunkHeader));
    return check(writer_.append(type, buffer_.data(), bytes));
  }

  // A reader must know the sites and keys of a span before the span.
  Status spill_table() {
    if (table_.empty()) return Ok{};
    XSP_CHECK_OK(append(ChunkType::kTable, table_.data(), table_.size()));
    table_.clear();
    return Ok{};
  }

  Status spill() {
    XSP_CHECK_OK(spill_table());
    if (encoder_.span_count() == 0) return Ok{};
    payload_.resize(kChunkPayloadBytesMax);
    const uint32_t count = encoder_.span_count();
    const size_t bytes = encoder_.finish(spans_, 0, 0, payload_.data());
    XSP_CHECK_OK(append(ChunkType::kSpans, payload_.data(), bytes));
    spans_ += count;
    encoder_.begin(kLane, 0, true);
    return Ok{};
  }

  // Writes the spans that never ended, by thread, outermost first. They last until the trace's last
  // moment, which an anchor tells.
  Status put_open() {
    for (auto& [thread, entries] : open_) {
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto& a, const auto& b) { return a.start < b.start; });
      const size_t kept = std::min<size_t>(entries.size(), trace::kOpenMax);
      const trace::OpenHeader header = {kLane, thread, static_cast<uint32_t>(entries.size()), 0};
      std::vector<uint8_t> chunk(sizeof header + kept * sizeof(trace::OpenEntry));
      std::memcpy(chunk.data(), &header, sizeof header);
      std::memcpy(chunk.data() + sizeof header, entries.data(), chunk.size() - sizeof header);
      XSP_CHECK_OK(append(ChunkType::kOpen, chunk.data(), chunk.size()));
    }
    if (open_.empty()) return Ok{};
    const Anchor last = {static_cast<uint64_t>(last_ns_), last_ns_, last_ns_};
    return append(ChunkType::kAnchor, reinterpret_cast<const uint8_t*>(&last), sizeof last);
  }

  // Adds an entry to the table; `fields` follow its kind.
  Status put_entry(TableEntry kind, const std::vector<uint8_t>& fields) {
    put_number(&table_, fields.size() + 1);
    table_.push_back(static_cast<uint8_t>(kind));
    table_.insert(table_.end(), fields.begin(), fields.end());
    return table_.size() < kTableSpillBytes ? Status(Ok{}) : spill_table();
  }

  Result<uint32_t> site_of(const ForeignSpan& span) {
    const auto [found, is_new] =
        sites_.try_emplace({span.level, span.name, span.type}, sites_.size() + 1);
    if (!is_new) return found->second;
    if (sites_.size() >= kSiteMax) {
      return failed("process " + std::to_string(process_) + ": more than " +
                    std::to_string(kSiteMax) + " different names: import a shorter trace");
    }
    std::vector<uint8_t> fields;
    put_number(&fields, found->second);
    put_number(&fields, span.level);
    put_text(&fields, span.name);
    put_text(&fields, span.type);
    XSP_CHECK_OK(put_entry(TableEntry::kSite, fields));
    return found->second;
  }

  Result<uint16_t> key_of(const std::string& key) {
    const auto [found, is_new] = keys_.try_emplace(key, static_cast<uint16_t>(keys_.size() + 1));
    if (!is_new) return found->second;
    if (keys_.size() >= kKeyMax) {
      return failed("process " + std::to_string(process_) + ": more than " +
                    std::to_string(kKeyMax) + " different attributes: import a shorter trace");
    }
    std::vector<uint8_t> fields;
    put_number(&fields, found->second);
    put_text(&fields, key);
    XSP_CHECK_OK(put_entry(TableEntry::kKey, fields));
    return found->second;
  }

  // Adds a slot, and those in which its text goes on. Without room, it counts a loss.
  void put_extra(Extra extra, std::string_view text = {}) {
    text = text.substr(0, kSpanTextBytesMax);
    extra.text_bytes = static_cast<uint32_t>(text.size());
    const size_t count = trace::slots_of_text(extra.text_bytes);
    if (used_ + count > size_t{trace::kExtraSlotsMax} + 1) {
      ++writer_.session()->dropped_value;
      return;
    }
    const size_t here = std::min(text.size(), sizeof extra.text);
    if (here > 0) std::memcpy(extra.text, text.data(), here);
    std::memcpy(static_cast<void*>(&slots_[used_]), &extra, sizeof extra);
    if (here < text.size()) {
      std::memcpy(static_cast<void*>(&slots_[used_ + 1]), text.data() + here, text.size() - here);
    }
    used_ += count;
  }

  Status fill_slots(const ForeignSpan& span, uint32_t site) {
    used_ = 1;
    Extra place = {};
    place.kind = Extra::kPlace;
    place.place[0] = span.thread;
    place.place[1] = span.device ? *span.device + 1 : 0;
    place.place[2] = span.stream ? *span.stream + 1 : 0;
    put_extra(place);
    if (span.iteration) {
      Extra extra = {};
      XSP_TRY(extra.key, key_of("iteration"));
      extra.kind = XSP_VALUE_INT;
      extra.number = static_cast<uint64_t>(*span.iteration);
      put_extra(extra);
    }
    for (const auto& [key, value] : span.attributes) {
      Extra extra = {};
      XSP_TRY(extra.key, key_of(key));
      extra.kind = XSP_VALUE_TEXT;
      put_extra(extra, value);
    }
    for (const auto& [key, value] : span.counters) {
      Extra extra = {};
      XSP_TRY(extra.key, key_of(key));
      extra.kind = XSP_VALUE_COUNTER;
      extra.number = std::bit_cast<uint64_t>(value);
      put_extra(extra);
    }
    Record& record = slots_[0];
    record = {};
    record.start = static_cast<uint64_t>(span.start_ns);
    record.duration = static_cast<uint64_t>(std::max<int64_t>(span.duration_ns, 0));
    record.payload = span.correlation;
    record.site_id = site;
    record.bits = static_cast<uint16_t>(Record::kGiven | (used_ - 1) << Record::kExtraShift);
    return Ok{};
  }

  fs::path path_;
  uint32_t run_;
  uint32_t process_;
  trace::Writer writer_;
  std::vector<uint8_t> memory_;
  trace::SpanEncoder encoder_;
  std::vector<Record> slots_;  // one group: a span, and its values
  size_t used_ = 0;
  uint64_t spans_ = 0;
  std::map<uint32_t, std::vector<trace::OpenEntry>> open_;  // by thread
  int64_t last_ns_ = INT64_MIN;
  std::map<std::tuple<uint32_t, std::string, std::string>, uint32_t> sites_;
  std::unordered_map<std::string, uint16_t> keys_;
  std::vector<uint8_t> table_;
  std::vector<uint8_t> payload_;
  std::vector<uint8_t> buffer_;
};

TraceFiles::TraceFiles(fs::path folder) : folder_(std::move(folder)) {}
TraceFiles::~TraceFiles() = default;

Status TraceFiles::add(const ForeignSpan& span) {
  if (span.iteration) numbered_.insert(span.run);
  File*& file = of_process_[{span.run, span.process}];
  if (file == nullptr) {
    if (files_.size() == kProcessesMax) {
      return failed("more than " + std::to_string(kProcessesMax) +
                    " processes: import a trace of fewer");
    }
    const fs::path path = folder_ / (std::to_string(files_.size()) + ".xtrace");
    files_.push_back(std::make_unique<File>(path, span.run, span.process));
    file = files_.back().get();
    XSP_CHECK_OK(file->open(span.start_ns));
  }
  return file->add(span);
}

Result<std::vector<ConvertedRun>> TraceFiles::close(uint64_t left_out) {
  std::map<uint32_t, ConvertedRun> runs;
  if (left_out > 0 && !files_.empty()) XSP_CHECK_OK(files_[0]->put_loss(left_out));
  for (const auto& file : files_) {
    XSP_CHECK_OK(file->close());
    runs[file->run()].traces.push_back(file->path());
  }
  std::vector<ConvertedRun> all;
  for (auto& [id, one] : runs) {
    one.run = described_[id];
    one.has_iterations = numbered_.count(id) > 0;
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace xsp::importers

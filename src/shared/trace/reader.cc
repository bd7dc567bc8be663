#include "shared/trace/reader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "shared/base/crc32c.h"
#include "shared/base/limits.h"
#include "shared/trace/decode.h"
#include "shared/trace/file_walk.h"
#include "shared/trace/table_parser.h"
#include "shared/trace/timeline.h"

namespace xsp::trace {
namespace {

constexpr const char* kSource = "trace";

struct ChunkPlace {
  uint64_t offset = 0;  // offset of the payload
  uint32_t bytes = 0;
  uint32_t crc = 0;
  uint32_t epoch = 0;
  ChunkType type = ChunkType::kSamples;  // for samples only
};

// The facts about one lane, both from its block, which outlives the process, and from its chunks.
struct LaneFacts {
  LaneBlock block = {};
  uint64_t end[2] = {};    // ordinal after the last span in a chunk: as they happened, and given
  uint64_t found[2] = {};  // spans in whole chunks
  uint64_t dropped_ring = 0;
  uint64_t dropped_site = 0;

  uint64_t accepted(int kind) const {
    return kind == 0 ? block.accepted_and_depth >> LaneBlock::kDepthBits : block.accepted_given;
  }
};

bool is_intact(const FileHeader& header) {
  return std::memcmp(header.magic, kFileMagic, sizeof header.magic) == 0 &&
         header.crc == crc32c(&header, offsetof(FileHeader, crc));
}

// Returns the header, or its copy at the end of the first page.
Result<FileHeader> find_header(const std::string& name, std::span<const uint8_t> page) {
  FileHeader header = {};
  if (page.empty()) return corrupt(name + ": the file is empty: record the trace again");
  std::memcpy(&header, page.data(), std::min(page.size(), sizeof header));
  bool has_magic = std::memcmp(header.magic, kFileMagic, sizeof header.magic) == 0;
  if (!is_intact(header) && page.size() == kPageBytes) {
    std::memcpy(&header, page.data() + kHeaderCopyOffset, sizeof header);
    has_magic = has_magic || std::memcmp(header.magic, kFileMagic, sizeof header.magic) == 0;
  }
  if (is_intact(header)) {
    if (header.byte_order != kByteOrder) {
      return corrupt(name +
                     ": written by a machine of the other byte order: read it on such a one");
    }
    if (header.version > kFormatVersion) {
      return corrupt(name + ": version " + std::to_string(header.version) +
                     " of the format, this program reads up to " + std::to_string(kFormatVersion) +
                     ": use a newer xsp");
    }
    return header;
  }
  if (page.size() < sizeof header && !has_magic &&
      std::memcmp(page.data(), kFileMagic, std::min(page.size(), sizeof kFileMagic)) != 0) {
    return corrupt(name + ": not an .xtrace file: name a file that xsp recorded");
  }
  if (page.size() >= sizeof header && !has_magic) {
    return corrupt(name + ": not an .xtrace file: name a file that xsp recorded");
  }
  return corrupt(name + ": the first page is damaged: record the trace again");
}

}  // namespace

struct Reader::State {
  explicit State(InputFile input) : file(std::move(input)) {}

  Status load(const std::string& name);
  Status load_chunks();
  void take_chunk(const Chunk& chunk, std::vector<OpenStack>* open);
  bool take_spans(const Chunk& chunk);
  void add_open(const OpenStack& stack);
  void add_live_blocks(std::vector<OpenStack>* open);
  void add_loss(const char* cause, uint64_t count);
  void count_losses(const FileWalk& walk);
  Result<uint64_t> count_unknown_sites() const;
  Result<std::vector<uint8_t>> read_payload(const ChunkPlace& place) const;

  InputFile file;
  FileHeader header = {};
  SessionBlock session = {};
  std::unique_ptr<Timeline> timeline;
  Tables tables;
  std::vector<Stream> streams;
  std::vector<std::vector<ChunkPlace>> places;                           // chunks of each stream
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> stream_of;  // lane, thread, given
  std::map<uint32_t, LaneFacts> lanes;
  std::vector<OpenSpan> open_spans;
  uint64_t open_not_kept = 0;
  uint64_t open_unknown = 0;
  std::vector<std::pair<LevelsMark, size_t>> level_marks;  // marks with their epochs
  std::vector<LevelsFrom> levels;
  Stacks stacks;
  std::vector<ChunkPlace> sample_places;
  uint64_t stacks_unknown = 0;  // chunks of stacks
  uint64_t samples_found = 0;
  std::vector<Loss> reported;
  std::vector<Loss> losses;
  uint64_t senseless = 0;  // chunks with a correct checksum and invalid contents
};

bool Reader::State::take_spans(const Chunk& chunk) {
  const Result<SpansHeader> spans = read_spans_header(chunk.payload);
  if (!spans.ok()) return false;
  LaneFacts& lane = lanes[spans->lane];
  const uint32_t kind = spans->is_given;
  // Ordinals only grow, so a lane did not write a chunk with a smaller one.
  if (spans->ordinal < lane.end[kind]) return false;
  lane.end[kind] = spans->ordinal + spans->span_count;
  lane.found[kind] += spans->span_count;
  lane.dropped_ring = std::max(lane.dropped_ring, spans->dropped_ring);
  lane.dropped_site = std::max(lane.dropped_site, spans->dropped_site);
  const auto [at, is_new] =
      stream_of.try_emplace({spans->lane, spans->thread, kind}, streams.size());
  if (is_new) {
    Stream stream;
    stream.thread = spans->thread;
    stream.given_times = kind == 1;
    streams.push_back(stream);
    places.emplace_back();
  }
  Stream& stream = streams[at->second];
  ++stream.chunk_count;
  stream.span_count += spans->span_count;
  places[at->second].push_back({chunk.payload_offset, chunk.header.payload_bytes,
                                chunk.header.payload_crc,
                                static_cast<uint32_t>(timeline->epoch())});
  return true;
}

void Reader::State::take_chunk(const Chunk& chunk, std::vector<OpenStack>* open) {
  bool makes_sense = true;
  switch (static_cast<ChunkType>(chunk.header.type)) {
    case ChunkType::kTable:
      makes_sense = parse_table(chunk.payload, &tables);
      break;
    case ChunkType::kSpans:
      makes_sense = take_spans(chunk);
      break;
    case ChunkType::kAnchor: {
      Anchor anchor;
      makes_sense = chunk.payload.size() == sizeof anchor;
      if (!makes_sense) break;
      std::memcpy(&anchor, chunk.payload.data(), sizeof anchor);
      makes_sense = timeline->add(anchor);
      break;
    }
    case ChunkType::kLane: {
      LaneBlock block;
      std::memcpy(&block, chunk.payload.data(), sizeof block);
      lanes[block.lane].block = block;
      break;
    }
    case ChunkType::kOpen:
      open->emplace_back();
      makes_sense = parse_open(chunk.payload, &open->back());
      if (!makes_sense) open->pop_back();
      break;
    case ChunkType::kLoss:
      makes_sense = parse_losses(chunk.payload, &reported);
      break;
    case ChunkType::kLevels: {
      LevelsMark mark;
      makes_sense = chunk.payload.size() == sizeof mark;
      if (!makes_sense) break;
      std::memcpy(&mark, chunk.payload.data(), sizeof mark);
      level_marks.push_back({mark, timeline->epoch()});
      break;
    }
    case ChunkType::kStacks:
      // If the file was at its limit and a chunk was not written, the next one lacks its callers.
      if (!stacks.add(chunk.payload)) ++stacks_unknown;
      break;
    case ChunkType::kSamples:
    case ChunkType::kCostedSamples: {
      const auto type = static_cast<ChunkType>(chunk.header.type);
      std::vector<Sample> samples;
      makes_sense = parse_samples(type, chunk.payload, &samples);
      if (!makes_sense) break;
      samples_found += samples.size();
      sample_places.push_back(
          {chunk.payload_offset, chunk.header.payload_bytes, chunk.header.payload_crc, 0, type});
      break;
    }
  }
  if (!makes_sense) ++senseless;
}

void Reader::State::add_open(const OpenStack& stack) {
  for (const OpenEntry& entry : stack.entries) {
    if (!tables.has_site(entry.site_id)) {
      ++open_unknown;
      continue;
    }
    OpenSpan span;
    span.site = entry.site_id;
    span.thread = stack.header.thread;
    span.start_ns = timeline->unix_ns(entry.start, timeline->epoch());
    // The process may have died between writing the stack to a chunk and clearing it.
    const auto is_same = [&](const OpenSpan& other) {
      return other.site == span.site && other.thread == span.thread &&
             other.start_ns == span.start_ns;
    };
    if (std::none_of(open_spans.begin(), open_spans.end(), is_same)) open_spans.push_back(span);
  }
  open_not_kept += stack.not_kept;
}

// Adds the open spans of threads that were alive when the process ended.
void Reader::State::add_live_blocks(std::vector<OpenStack>* open) {
  for (const auto& [number, lane] : lanes) {
    if (lane.block.state != static_cast<uint32_t>(LaneState::kLive)) continue;
    // A written span may still be on the stack because its thread had not popped it yet. It is not
    // open.
    const uint64_t ended = lane.end[0] - std::min(lane.end[0], lane.accepted(0));
    uint64_t depth = lane.block.accepted_and_depth & LaneBlock::kDepthMask;
    depth -= std::min(depth, ended);
    OpenStack stack;
    stack.header = {number, lane.block.thread, static_cast<uint32_t>(depth), 0};
    const uint64_t kept = std::min<uint64_t>(depth, kOpenMax);
    stack.entries.assign(lane.block.open, lane.block.open + kept);
    stack.not_kept = depth - kept;
    open->push_back(std::move(stack));
  }
}

void Reader::State::add_loss(const char* cause, uint64_t count) {
  if (count != 0) losses.push_back({kSource, cause, count});
}

void Reader::State::count_losses(const FileWalk& walk) {
  uint64_t ring = session.dropped_ring;
  uint64_t site = session.dropped_site;
  uint64_t found = 0;
  uint64_t accepted = 0;
  for (const auto& [number, lane] : lanes) {
    ring += std::max(lane.dropped_ring, lane.block.dropped_ring);
    site += std::max(lane.dropped_site, lane.block.dropped_site);
    for (int kind = 0; kind < 2; ++kind) {
      found += lane.found[kind];
      accepted += std::max(lane.end[kind], lane.accepted(kind));
    }
  }
  const bool is_complete = session.state == static_cast<uint64_t>(FileState::kComplete);
  uint64_t missing = std::max(accepted, session.drained) - std::min(accepted, found);
  const auto take = [&missing](uint64_t count) {
    const uint64_t taken = std::min(count, missing);
    missing -= taken;
    return taken;
  };
  add_loss("ring full", ring);
  add_loss("site table full", site);
  add_loss("file not writable or at its limit", take(session.dropped_file));
  if (!is_complete) {
    add_loss("process ended before writing", take(accepted - std::min(accepted, session.drained)));
  }
  add_loss("span in a damaged chunk", missing);
  // The chunk that a killed process was writing last is not damage.
  const uint64_t torn = !is_complete && walk.is_cut_short() ? 1 : 0;
  const uint64_t absent = session.chunk_count - std::min(session.chunk_count, walk.chunk_count());
  add_loss("damaged chunk", std::max(walk.damage_count() - torn, absent) + senseless);
  add_loss("open span beyond the kept depth", open_not_kept);
  add_loss("open span of an unknown site", open_unknown);
  add_loss("begun while the process ended", session.late);
  add_loss("value of a span", session.dropped_value);
  add_loss("site, key or fact of a site", session.dropped_fact);
  add_loss("clock jump", session.clock_jumps);
  add_loss(is_complete ? "sample not written" : "sample of a process that ended before writing",
           session.samples - std::min(session.samples, samples_found));
  add_loss("sample stacks of unknown callers", stacks_unknown);
  losses.insert(losses.end(), reported.begin(), reported.end());
}

Status Reader::State::load_chunks() {
  FileWalk walk(file);
  std::vector<OpenStack> open;
  for (Chunk chunk;;) {
    XSP_TRY(const bool is_there, walk.next(&chunk));
    if (!is_there) break;
    take_chunk(chunk, &open);
  }
  // The drainer updates this anchor in the first page with every pass: it is the last information
  // about the clocks.
  if (session.anchor_count > 0) {
    if (!timeline->add(session.latest[session.anchor_count % 2])) ++senseless;
  }
  for (const auto& [mark, epoch] : level_marks) {
    const int64_t start_ns = timeline->unix_ns(mark.ticks, epoch);
    levels.push_back({levels.empty() ? start_ns : std::max(start_ns, levels.back().start_ns),
                      mark.levels, mark.round});
  }
  add_live_blocks(&open);
  for (const OpenStack& stack : open) add_open(stack);
  count_losses(walk);
  if (walk.damage_count() + senseless > 0) {
    XSP_TRY(const uint64_t unknown, count_unknown_sites());
    add_loss("span of an unknown site", unknown);
  }
  return Ok{};
}

Status Reader::State::load(const std::string& name) {
  std::vector<uint8_t> page(kPageBytes);
  XSP_TRY(const size_t got, file.read(0, page));
  XSP_TRY(header, find_header(name, std::span(page).first(got)));
  std::memcpy(&session, page.data() + kSessionBlockOffset, sizeof session);
  timeline = std::make_unique<Timeline>(header.first, header.ticks_per_s);
  tables.keys.resize(1);
  if (got < kPageBytes) add_loss("file cut short in its first page", 1);
  return load_chunks();
}

Result<std::vector<uint8_t>> Reader::State::read_payload(const ChunkPlace& place) const {
  std::vector<uint8_t> payload(place.bytes);
  XSP_TRY(const size_t got, file.read(place.offset, payload));
  if (got < payload.size() || crc32c(payload.data(), payload.size()) != place.crc) {
    return corrupt("a chunk of the trace: changed since the file was opened: read it again");
  }
  return payload;
}

// Counts the spans whose site was in a damaged chunk; read() leaves them out.
Result<uint64_t> Reader::State::count_unknown_sites() const {
  uint64_t unknown = 0;
  SpanBatch batch;
  for (const std::vector<ChunkPlace>& chunks : places) {
    for (const ChunkPlace& place : chunks) {
      XSP_TRY(const std::vector<uint8_t> payload, read_payload(place));
      if (!decode_spans(payload, *timeline, place.epoch, &batch).ok()) continue;
      unknown += static_cast<uint64_t>(
          std::count_if(batch.site.begin(), batch.site.end(),
                        [&](uint32_t site) { return !tables.has_site(site); }));
    }
  }
  return unknown;
}

namespace {

// Removes the spans with an undefined site, and the values with an undefined key.
void remove_unknown(const Tables& tables, SpanBatch* batch) {
  std::erase_if(batch->values, [&](const SpanValue& value) { return !tables.has_key(value.key); });
  const auto is_known = [&](uint32_t site) { return tables.has_site(site); };
  if (std::all_of(batch->site.begin(), batch->site.end(), is_known)) return;
  std::vector<bool> kept(batch->size());
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = is_known(batch->site[i]);
  batch->keep(kept);
}

}  // namespace

Result<Reader> Reader::open(const std::filesystem::path& path) {
  XSP_TRY(InputFile file, InputFile::open(path));
  auto state = std::make_unique<State>(std::move(file));
  XSP_CHECK_OK(state->load(path.string()));
  return Reader(std::move(state));
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

uint32_t Reader::process_id() const { return state_->header.process_id; }
bool Reader::is_complete() const {
  return state_->session.state == static_cast<uint64_t>(FileState::kComplete);
}
int64_t Reader::first_ns() const { return state_->timeline->first_ns(); }
int64_t Reader::last_ns() const {
  int64_t last = state_->timeline->last_ns();
  for (const OpenSpan& span : state_->open_spans) last = std::max(last, span.start_ns);
  return last;
}
const std::vector<Site>& Reader::sites() const { return state_->tables.sites; }
const std::vector<std::string>& Reader::keys() const { return state_->tables.keys; }
const std::vector<Stream>& Reader::streams() const { return state_->streams; }
const std::vector<OpenSpan>& Reader::open_spans() const { return state_->open_spans; }
const std::vector<LevelsFrom>& Reader::levels() const { return state_->levels; }
const std::vector<Loss>& Reader::losses() const { return state_->losses; }

Status Reader::read(size_t stream, size_t chunk, SpanBatch* batch) const {
  batch->clear();
  XSP_TRY(const std::vector<uint8_t> payload, state_->read_payload(state_->places[stream][chunk]));
  XSP_CHECK_OK(
      decode_spans(payload, *state_->timeline, state_->places[stream][chunk].epoch, batch));
  remove_unknown(state_->tables, batch);
  return Ok{};
}

Status Reader::scan(size_t stream, size_t chunk, size_t block_spans,
                    std::vector<BlockTimes>* blocks) const {
  const ChunkPlace& place = state_->places[stream][chunk];
  XSP_TRY(const std::vector<uint8_t> payload, state_->read_payload(place));
  return decode_block_times(payload, *state_->timeline, place.epoch, block_spans, blocks);
}

const Stacks& Reader::stacks() const { return state_->stacks; }
size_t Reader::sample_chunk_count() const { return state_->sample_places.size(); }

Status Reader::read_samples(size_t chunk, std::vector<Sample>* samples) const {
  samples->clear();
  const ChunkPlace& place = state_->sample_places[chunk];
  XSP_TRY(const std::vector<uint8_t> payload, state_->read_payload(place));
  if (!parse_samples(place.type, payload, samples))
    return corrupt("a chunk of samples makes no sense");
  return Ok{};
}

}  // namespace xsp::trace

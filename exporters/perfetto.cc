// Perfetto's own format: a Trace of TracePackets, in the wire format of protocol buffers.
//
// Each track is a TrackDescriptor, each span a TrackEvent of the type SLICE_BEGIN and one of the
// type SLICE_END. Names, categories and the keys of annotations are interned: written once, then
// named by a number. The times are those of the file, in nanoseconds of UNIX time; a clock snapshot
// says so. A launch and its kernels have one flow id.
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "exporters/shared/exporter.h"
#include "exporters/shared/output.h"
#include "exporters/shared/spans.h"
#include "exporters/shared/tracks.h"
#include "formats/wire/wire.h"
#include "shared/base/levels.h"

namespace xsp::exporters {
namespace {

namespace wire = formats::wire;

// The numbers of the fields, by message, as in perfetto/trace/*.proto.
constexpr uint32_t kTracePacket = 1;
namespace packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11,
                   kInternedData = 12, kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr int64_t kStateCleared = 1, kNeedsState = 2;  // values of kSequenceFlags
}  // namespace packet
namespace clock_snapshot {
constexpr uint32_t kClocks = 1, kClockId = 1, kTimestamp = 2;
constexpr int64_t kRealtime = 1, kBoottime = 6;  // values of kClockId
}  // namespace clock_snapshot
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5;
constexpr uint32_t kProcessPid = 1, kProcessName = 6;
constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
}  // namespace descriptor
namespace event {
constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11, kFlow = 47;
constexpr int64_t kBegin = 1, kEnd = 2;  // values of kType
constexpr uint32_t kAnnotationName = 1, kAnnotationInt = 4, kAnnotationDouble = 5,
                   kAnnotationText = 6;
}  // namespace event
namespace interned {
constexpr uint32_t kCategory = 1, kName = 2, kAnnotationName = 3;
constexpr uint32_t kIid = 1, kText = 2;
}  // namespace interned

constexpr int64_t kOneSequence = 1;
// Tracks have the uuids from here on; processes have their ids.
constexpr uint64_t kFirstTrack = uint64_t{1} << 32;

class PerfettoWriter {
 public:
  explicit PerfettoWriter(Output output)
      : output_(std::move(output)),
        tracks_([this](size_t track, int64_t end_ns) { return end_span(track, end_ns); }) {}

  Status add(const Span& span) {
    if (is_first_) put_clocks(span.start_ns);
    const size_t known = tracks_.all().size();
    XSP_TRY(const size_t track, tracks_.place(span));
    if (track == known) describe(track);
    begin_span(span, track);
    return output_.spill();
  }

  Status close() {
    XSP_CHECK_OK(tracks_.finish());
    return output_.close();
  }

 private:
  void put_packet(const std::string& packet) {
    wire::put_bytes(&output_.text(), kTracePacket, packet);
  }

  // The trace's own clock is BOOTTIME by default. Both clocks show the same time here.
  void put_clocks(int64_t time_ns) {
    is_first_ = false;
    std::string snapshot;
    for (const int64_t clock : {clock_snapshot::kBoottime, clock_snapshot::kRealtime}) {
      std::string one;
      wire::put_integer(&one, clock_snapshot::kClockId, clock);
      wire::put_integer(&one, clock_snapshot::kTimestamp, time_ns);
      wire::put_bytes(&snapshot, clock_snapshot::kClocks, one);
    }
    std::string packet;
    wire::put_bytes(&packet, packet::kClockSnapshot, snapshot);
    wire::put_integer(&packet, packet::kSequence, kOneSequence);
    wire::put_integer(&packet, packet::kSequenceFlags, packet::kStateCleared);
    put_packet(packet);
  }

  void put_descriptor(const std::string& descriptor) {
    std::string packet;
    wire::put_bytes(&packet, packet::kTrackDescriptor, descriptor);
    wire::put_integer(&packet, packet::kSequence, kOneSequence);
    put_packet(packet);
  }

  void describe_process(int64_t process) {
    if (!processes_.insert(process).second) return;
    std::string facts, descriptor;
    wire::put_integer(&facts, descriptor::kProcessPid, process);
    wire::put_bytes(&facts, descriptor::kProcessName, "process " + std::to_string(process));
    wire::put_integer(&descriptor, descriptor::kUuid, process + 1);
    wire::put_bytes(&descriptor, descriptor::kProcess, facts);
    put_descriptor(descriptor);
  }

  void describe(size_t index) {
    const Track& track = tracks_.all()[index];
    describe_process(track.process);
    std::string descriptor;
    wire::put_integer(&descriptor, descriptor::kUuid, static_cast<int64_t>(kFirstTrack + index));
    wire::put_integer(&descriptor, descriptor::kParent, track.process + 1);
    if (track.thread && track.row == 0) {
      std::string thread;
      wire::put_integer(&thread, descriptor::kThreadPid, track.process);
      wire::put_integer(&thread, descriptor::kThreadTid, *track.thread);
      wire::put_bytes(&thread, descriptor::kThreadName, track.title());
      wire::put_bytes(&descriptor, descriptor::kThread, thread);
    } else {
      wire::put_bytes(&descriptor, descriptor::kName, track.title());
    }
    put_descriptor(descriptor);
  }

  // Returns the number of a text; `data` gets its definition if it is new.
  int64_t intern(uint32_t kind, std::string_view text, std::string* data) {
    auto& known = texts_[kind];
    const auto [found, is_new] =
        known.try_emplace(std::string(text), static_cast<int64_t>(known.size()) + 1);
    if (is_new) {
      std::string entry;
      wire::put_integer(&entry, interned::kIid, found->second);
      wire::put_bytes(&entry, interned::kText, text);
      wire::put_bytes(data, kind, entry);
    }
    return found->second;
  }

  void begin_span(const Span& span, size_t track) {
    std::string data, event;
    wire::put_integer(&event, event::kType, event::kBegin);
    wire::put_integer(&event, event::kTrack, static_cast<int64_t>(kFirstTrack + track));
    wire::put_integer(&event, event::kName, intern(interned::kName, span.name, &data));
    wire::put_integer(&event, event::kCategory,
                      intern(interned::kCategory, level_name(span.level), &data));
    if (span.launch) {
      wire::put_fixed64(&event, event::kFlow, Span::unique(span.run, *span.launch));
    }
    annotate(span, &event, &data);
    put_event(span.start_ns, event, data);
  }

  void annotate(const Span& span, std::string* event, std::string* data) {
    const auto put = [&](std::string_view key, const auto& write) {
      std::string annotation;
      wire::put_integer(&annotation, event::kAnnotationName,
                        intern(interned::kAnnotationName, key, data));
      write(&annotation);
      wire::put_bytes(event, event::kAnnotation, annotation);
    };
    const auto put_text = [&](std::string_view key, std::string_view text) {
      put(key, [&](std::string* out) { wire::put_bytes(out, event::kAnnotationText, text); });
    };
    const auto put_integer = [&](std::string_view key, std::optional<int64_t> number) {
      if (!number) return;
      put(key, [&](std::string* out) { wire::put_integer(out, event::kAnnotationInt, *number); });
    };
    if (!span.type.empty()) put_text("type", span.type);
    put_integer("run", span.run);
    put_integer("span", span.id);
    put_integer("parent", span.parent);
    put_integer("iteration", span.iteration);
    put_integer("correlation", span.correlation);
    for (const Fact& fact : span.facts) {
      if (!fact.number) {
        put_text(fact.key, fact.text);
        continue;
      }
      put(fact.key,
          [&](std::string* out) { wire::put_double(out, event::kAnnotationDouble, *fact.number); });
    }
  }

  Status end_span(size_t track, int64_t end_ns) {
    std::string event;
    wire::put_integer(&event, event::kType, event::kEnd);
    wire::put_integer(&event, event::kTrack, static_cast<int64_t>(kFirstTrack + track));
    put_event(end_ns, event, {});
    return output_.spill();
  }

  void put_event(int64_t time_ns, const std::string& event, const std::string& data) {
    std::string packet;
    wire::put_integer(&packet, packet::kTimestamp, time_ns);
    wire::put_integer(&packet, packet::kSequence, kOneSequence);
    wire::put_integer(&packet, packet::kSequenceFlags, packet::kNeedsState);
    if (!data.empty()) wire::put_bytes(&packet, packet::kInternedData, data);
    wire::put_bytes(&packet, packet::kTrackEvent, event);
    put_packet(packet);
  }

  Output output_;
  Tracks tracks_;
  std::set<int64_t> processes_;
  std::map<uint32_t, std::unordered_map<std::string, int64_t>> texts_;  // by kind
  bool is_first_ = true;
};

Result<Written> write(const Request& request) {
  XSP_TRY(store::Database database, open_for_export(request));
  XSP_TRY(Output output, Output::create(request.output));
  PerfettoWriter writer(std::move(output));
  XSP_TRY(const uint64_t spans,
          each_span(database, request, [&](const Span& span) { return writer.add(span); }));
  XSP_CHECK_OK(writer.close());
  return Written{spans, "span"};
}

}  // namespace

std::vector<Exporter> perfetto_exporters() {
  return {{"perfetto", "Perfetto's own format (protocol buffers), for ui.perfetto.dev and SQL",
           ".pftrace", Takes::kSpans, write}};
}

}  // namespace xsp::exporters

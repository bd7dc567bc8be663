// Reader reads an .xtrace file, whole or cut short. It is not used in the profiled process.
//
// open() walks the chunk headers, checks that they have CRCs and valid lengths, and reads the small
// parts: sites, keys, anchors, losses, open spans. Spans are decoded chunk by chunk on request, so
// that memory stays bounded whatever the trace's length. Bytes are foreign: every length is
// checked, all damage is counted and skipped, nothing is trusted. docs/trace_format.md draws the
// bytes.
//
// Several threads may call const methods at once.
#ifndef XSP_SHARED_TRACE_READER_H_
#define XSP_SHARED_TRACE_READER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/result.h"
#include "shared/trace/stacks.h"

namespace xsp::trace {

struct Site {
  uint32_t id = 0;
  uint32_t level = 0;  // XSP_LEVEL_*
  std::string name;
  std::string type;  // empty: none
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, double>> counters;
};

// Further facts about a span.
struct SpanValue {
  uint32_t span = 0;  // index in the batch
  uint32_t key = 0;   // index of Reader::keys()
  uint32_t kind = 0;  // XSP_VALUE_*
  int64_t as_int = 0;
  double as_double = 0;
  std::string as_text;
};

// Holds the spans of one chunk, as columns of equal length, in the order of their ends unless the
// stream says otherwise.
struct SpanBatch {
  std::vector<int64_t> start_ns;  // UNIX time
  std::vector<int64_t> end_ns;    // >= start_ns
  std::vector<uint32_t> site;     // Site::id
  std::vector<uint32_t> thread;   // thread on which it ran
  std::vector<uint64_t> correlation_id;
  std::vector<uint32_t> device;  // device + 1; 0: the host
  std::vector<uint32_t> stream;  // stream + 1; 0: none
  std::vector<SpanValue> values;

  size_t size() const { return start_ns.size(); }
  void clear();
  // Removes the spans whose flag is false, and their values. There is one flag for each span.
  void keep(const std::vector<bool>& is_kept);
};

// Describes the spans that one thread emitted in one way: as they happened (ordered by end), or
// with given times (in the order of emission, which may be any).
struct Stream {
  uint32_t thread = 0;  // the emitting thread
  bool given_times = false;
  size_t chunk_count = 0;
  uint64_t span_count = 0;
};

struct OpenSpan {
  uint32_t site = 0;
  uint32_t thread = 0;
  int64_t start_ns = 0;
};

struct Loss {
  std::string source;
  std::string cause;
  uint64_t count = 0;
};

// Spans that begin from this moment on have these levels. A span of the type "step", or one that
// another profiler measured, may have another level.
struct LevelsFrom {
  int64_t start_ns = 0;
  uint32_t levels = 0;  // bits
  uint32_t round = 0;   // if sets of levels take turns: from 1; 0: they do not, or not yet
};

// Holds the times of some consecutive spans of a chunk.
struct BlockTimes {
  int64_t first_end_ns = 0;
  int64_t last_end_ns = 0;  // the latest end
  int64_t earliest_start_ns = 0;
  uint32_t span_count = 0;
  bool is_ordered = true;  // by end
};

// Appends the times of decoded spans, in blocks of `block_spans` spans; the last block may be
// shorter.
void append_block_times(const SpanBatch& batch, size_t block_spans,
                        std::vector<BlockTimes>* blocks);

class Reader {
 public:
  static Result<Reader> open(const std::filesystem::path& path);

  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  uint32_t process_id() const;
  // Returns true if the trailer is there: the program called xsp_stop.
  bool is_complete() const;
  int64_t first_ns() const;                      // start of the trace
  int64_t last_ns() const;                       // the latest moment in the trace
  const std::vector<Site>& sites() const;        // in order of id, from 1
  const std::vector<std::string>& keys() const;  // keys()[0] is unused
  const std::vector<Stream>& streams() const;
  const std::vector<OpenSpan>& open_spans() const;  // spans that never ended
  // Returns the levels in order of time; empty if they were never switched.
  const std::vector<LevelsFrom>& levels() const;
  // Returns the losses of the process and of the file: ("trace", "damaged chunk", n), ...
  const std::vector<Loss>& losses() const;

  // Decodes one chunk of a stream into `batch`, which is cleared first. A damaged chunk gives an
  // Error; the others stay readable.
  Status read(size_t stream, size_t chunk, SpanBatch* batch) const;
  // Appends the times of one chunk, in blocks. This is much cheaper than read(), but includes spans
  // of unknown sites.
  Status scan(size_t stream, size_t chunk, size_t block_spans,
              std::vector<BlockTimes>* blocks) const;

  // Returns the stacks of the whole file, to which samples refer.
  const Stacks& stacks() const;
  size_t sample_chunk_count() const;
  // Reads the samples of one chunk, in the order of time; `samples` is cleared first.
  Status read_samples(size_t chunk, std::vector<Sample>* samples) const;

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_READER_H_

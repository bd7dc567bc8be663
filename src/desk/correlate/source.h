// Source: the interface through which the correlation reads the spans of a trace. It is a Reader,
// or made by a test.
#ifndef XSP_DESK_CORRELATE_SOURCE_H_
#define XSP_DESK_CORRELATE_SOURCE_H_

#include <cstdint>
#include <vector>

#include "shared/base/result.h"
#include "shared/trace/reader.h"

namespace xsp::correlate {

class Source {
 public:
  virtual ~Source() = default;
  virtual const std::vector<trace::Stream>& streams() const = 0;
  // Works like trace::Reader::read.
  virtual Status read(size_t stream, size_t chunk, trace::SpanBatch* batch) const = 0;
  // Works like trace::Reader::scan.
  virtual Status scan(size_t stream, size_t chunk, size_t block_spans,
                      std::vector<trace::BlockTimes>* blocks) const = 0;
  virtual const std::vector<trace::OpenSpan>& open_spans() const = 0;
  virtual int64_t last_ns() const = 0;
  // Returns the level of each site by its id; 0: no such site. Ids beyond the end do not exist
  // either.
  virtual const std::vector<uint8_t>& site_levels() const = 0;
};

// Reads a trace file. `reader` must outlive it.
class ReaderSource final : public Source {
 public:
  explicit ReaderSource(const trace::Reader& reader);
  const std::vector<trace::Stream>& streams() const override { return reader_.streams(); }
  Status read(size_t stream, size_t chunk, trace::SpanBatch* batch) const override {
    return reader_.read(stream, chunk, batch);
  }
  Status scan(size_t stream, size_t chunk, size_t block_spans,
              std::vector<trace::BlockTimes>* blocks) const override {
    return reader_.scan(stream, chunk, block_spans, blocks);
  }
  const std::vector<trace::OpenSpan>& open_spans() const override { return reader_.open_spans(); }
  int64_t last_ns() const override { return reader_.last_ns(); }
  const std::vector<uint8_t>& site_levels() const override { return levels_; }

 private:
  const trace::Reader& reader_;
  std::vector<uint8_t> levels_;
};

}  // namespace xsp::correlate

#endif  // XSP_DESK_CORRELATE_SOURCE_H_

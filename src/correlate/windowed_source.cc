#include "correlate/windowed_source.h"

#include <algorithm>

#include "correlate/feed.h"
#include "xsp/xsp.h"

namespace xsp::correlate {

WindowedSource::WindowedSource(const Source& source, std::vector<TimeWindow> windows,
                               uint32_t levels)
    : source_(source),
      windows_(std::move(windows)),
      levels_(levels | XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION)) {
  for (const trace::OpenSpan& span : source.open_spans()) {
    if (is_kept(span.start_ns, span.site)) open_spans_.push_back(span);
  }
}

bool WindowedSource::is_kept(int64_t start_ns, uint32_t site) const {
  const uint8_t level = level_of(source_.site_levels(), site);
  if (level != 0 && (levels_ & XSP_LEVEL_BIT(level)) == 0) return false;
  const auto after =
      std::upper_bound(windows_.begin(), windows_.end(), start_ns,
                       [](int64_t ns, const TimeWindow& one) { return ns < one.start_ns; });
  return after != windows_.begin() && start_ns < std::prev(after)->end_ns;
}

Status WindowedSource::read(size_t stream, size_t chunk, trace::SpanBatch* batch) const {
  XSP_CHECK_OK(source_.read(stream, chunk, batch));
  std::vector<bool> kept(batch->size());
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = is_kept(batch->start_ns[i], batch->site[i]);
  batch->keep(kept);
  return Ok{};
}

Status WindowedSource::scan(size_t stream, size_t chunk, size_t block_spans,
                            std::vector<trace::BlockTimes>* blocks) const {
  trace::SpanBatch batch;
  XSP_CHECK_OK(read(stream, chunk, &batch));
  trace::append_block_times(batch, block_spans, blocks);
  return Ok{};
}

}  // namespace xsp::correlate

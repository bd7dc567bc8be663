#include "desk/correlate/windowed_source.h"

#include <algorithm>

#include "desk/correlate/feed.h"
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
  if ((levels_ & XSP_LEVEL_BIT(XSP_LEVEL_KERNEL)) != 0) find_launches();
}

void WindowedSource::find_launches() {
  std::vector<Ids> of_window(windows_.size());
  trace::SpanBatch batch;
  for (size_t stream = 0; stream < source_.streams().size(); ++stream) {
    for (size_t chunk = 0; chunk < source_.streams()[stream].chunk_count; ++chunk) {
      if (!source_.read(stream, chunk, &batch).ok()) continue;
      for (size_t i = 0; i < batch.size(); ++i) {
        const uint64_t id = batch.correlation_id[i];
        const uint8_t level = level_of(source_.site_levels(), batch.site[i]);
        if (id == 0 || level == 0 || is_on_device(level, batch.device[i])) continue;
        const std::optional<size_t> window = window_of(batch.start_ns[i]);
        if (!window) continue;
        of_window[*window].first = std::min(of_window[*window].first, id);
        of_window[*window].last = std::max(of_window[*window].last, id);
      }
    }
  }
  for (const Ids& ids : of_window) {
    if (ids.first <= ids.last) launches_.push_back(ids);
  }
}

std::optional<size_t> WindowedSource::window_of(int64_t ns) const {
  const auto after =
      std::upper_bound(windows_.begin(), windows_.end(), ns,
                       [](int64_t one, const TimeWindow& window) { return one < window.start_ns; });
  if (after == windows_.begin() || ns >= std::prev(after)->end_ns) return std::nullopt;
  return static_cast<size_t>(after - windows_.begin()) - 1;
}

bool WindowedSource::is_kept(int64_t start_ns, uint32_t site) const {
  const uint8_t level = level_of(source_.site_levels(), site);
  if (level != 0 && (levels_ & XSP_LEVEL_BIT(level)) == 0) return false;
  return window_of(start_ns).has_value();
}

bool WindowedSource::is_kept(const trace::SpanBatch& batch, size_t i) const {
  const uint64_t id = batch.correlation_id[i];
  const uint8_t level = level_of(source_.site_levels(), batch.site[i]);
  if (id == 0 || launches_.empty() || !is_on_device(level, batch.device[i])) {
    return is_kept(batch.start_ns[i], batch.site[i]);
  }
  if ((levels_ & XSP_LEVEL_BIT(level)) == 0) return false;
  const auto after = std::upper_bound(launches_.begin(), launches_.end(), id,
                                      [](uint64_t one, const Ids& ids) { return one < ids.first; });
  return after != launches_.begin() && id <= std::prev(after)->last;
}

Status WindowedSource::read(size_t stream, size_t chunk, trace::SpanBatch* batch) const {
  XSP_CHECK_OK(source_.read(stream, chunk, batch));
  std::vector<bool> kept(batch->size());
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = is_kept(*batch, i);
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

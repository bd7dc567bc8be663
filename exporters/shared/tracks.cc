#include "exporters/shared/tracks.h"

#include <limits>

namespace xsp::exporters {

std::string Track::title() const {
  std::string title;
  if (device) title = "device " + std::to_string(*device);
  if (stream) title += std::string(device ? " · " : "") + "stream " + std::to_string(*stream);
  if (title.empty()) title = thread ? "thread " + std::to_string(*thread) : "no thread";
  if (row > 0) title += " (" + std::to_string(row + 1) + ")";
  return title;
}

Result<size_t> Tracks::place(const Span& span) {
  Track wanted;
  wanted.process = span.process.value_or(0);
  wanted.device = span.device;
  wanted.stream = span.stream;
  if (!span.device && !span.stream) wanted.thread = span.thread;
  std::vector<size_t>& rows = rows_[{wanted.process, wanted.thread, wanted.device, wanted.stream}];
  for (const size_t track : rows) {
    XSP_CHECK_OK(end_until(track, span.start_ns));
    std::vector<int64_t>& open = open_[track];
    if (!open.empty() && open.back() < span.end_ns()) continue;
    open.push_back(span.end_ns());
    return track;
  }
  wanted.row = rows.size();
  rows.push_back(tracks_.size());
  tracks_.push_back(wanted);
  open_.push_back({span.end_ns()});
  return rows.back();
}

Status Tracks::finish() {
  for (size_t track = 0; track < tracks_.size(); ++track) {
    XSP_CHECK_OK(end_until(track, std::numeric_limits<int64_t>::max()));
  }
  return Ok{};
}

Status Tracks::end_until(size_t track, int64_t time_ns) {
  std::vector<int64_t>& open = open_[track];
  while (!open.empty() && open.back() <= time_ns) {
    const int64_t end_ns = open.back();
    open.pop_back();
    if (on_end_) XSP_CHECK_OK(on_end_(track, end_ns));
  }
  return Ok{};
}

}  // namespace xsp::exporters

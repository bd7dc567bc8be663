#include "adapters/onnxruntime/emit.h"

#include <algorithm>
#include <cstddef>

#include "xsp/xsp.h"

namespace xsp::ort {
namespace {

constexpr size_t kSpansPerDrain = 10'000;

// Emits the spans of one run, clipped to it.
void emit_run(const std::vector<xsp_complete_span>& spans, const Window& window, size_t* emitted) {
  for (xsp_complete_span span : spans) {
    const int64_t end = std::min(span.start_ns + span.duration_ns, window.end_ns);
    span.start_ns = std::min(std::max(span.start_ns, window.start_ns), window.end_ns);
    span.duration_ns = std::max<int64_t>(end - span.start_ns, 0);
    xsp_emit(&span);
    // If spans are emitted faster than the drainer writes, some are lost: so it may catch up from
    // time to time.
    if (++*emitted % kSpansPerDrain == 0) xsp_flush();
  }
}

}  // namespace

void emit_profile(ProfileReader* reader, int64_t profile_start_ns,
                  const std::vector<Window>& windows, Layers* layers) {
  using Event = ProfileReader::Event;
  std::vector<xsp_complete_span> spans;  // spans of the run that is being read
  size_t run = 0;
  size_t emitted = 0;
  uint64_t unreadable = 0;
  NodeEvent node;
  for (Event event = reader->next(&node); event != Event::kEnd; event = reader->next(&node)) {
    if (event == Event::kUnreadable) ++unreadable;
    if (event == Event::kNode) {
      xsp_complete_span span{};
      span.struct_size = sizeof span;
      span.site_id = layers->site(node);
      span.thread = node.thread;
      span.start_ns = profile_start_ns + node.start_us * 1000;
      span.duration_ns = node.duration_us * 1000;
      spans.push_back(span);
    }
    if (event != Event::kRun) continue;
    if (run < windows.size()) emit_run(spans, windows[run], &emitted);
    ++run;
    spans.clear();
  }
  if (unreadable > 0) xsp_count_loss("onnxruntime", "unreadable event of the profile", unreadable);
  // Beyond its limit the runtime drops events. A run that lacks some of them is left out as a
  // whole.
  const size_t complete = std::min(run, windows.size());
  if (complete < windows.size()) {
    const size_t nodes_per_run = complete == 0 ? spans.size() : emitted / complete;
    xsp_count_loss("onnxruntime", "the runtime's limit of 1000000 events in a profile",
                   (windows.size() - complete) * nodes_per_run);
  }
}

}  // namespace xsp::ort

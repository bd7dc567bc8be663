#include "process/load/request_spans.h"

#include <iterator>
#include <utility>

#include "xsp/xsp.h"

namespace xsp::process {
namespace {

constexpr uint32_t kThreadMax = (1u << 22) - 1;  // see desk/correlate/rules.h
constexpr const char* kPart = "part";

}  // namespace

RequestSpans::RequestSpans()
    : request_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "request", "request")),
      queue_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "queue", kPart)),
      batch_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "batch", kPart)),
      pipeline_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "pipeline", kPart)),
      output_site_(xsp_intern_site(XSP_LEVEL_APPLICATION, "output", kPart)),
      request_key_(xsp_intern_key(kRequestKey)),
      batch_key_(xsp_intern_key("batch")),
      position_key_(xsp_intern_key("position")),
      instance_key_(xsp_intern_key("instance")),
      waited_key_(xsp_intern_key("waited_ns")),
      clock_key_(xsp_intern_key("clock_mhz")) {}

// Returns the number of a thread on which no request overlaps this one.
uint32_t RequestSpans::thread_for(const Answer& answer) {
  Slot slot{answer.done_ns, kThreadMax - static_cast<uint32_t>(slots_.size())};
  // The one that became free last before the arrival leaves the others free for earlier arrivals.
  auto found = slots_.upper_bound(Slot{answer.arrival_ns, 0});
  if (found != slots_.begin()) {
    slot.thread = (--found)->thread;
    slots_.erase(found);
  }
  slots_.insert(slot);
  return slot.thread;
}

void RequestSpans::emit_part(uint32_t site, uint32_t thread, int64_t start_ns,
                             int64_t end_ns) const {
  if (end_ns <= start_ns) return;
  xsp_complete_span span{};
  span.struct_size = sizeof span;
  span.site_id = site;
  span.thread = thread;
  span.start_ns = start_ns;
  span.duration_ns = end_ns - start_ns;
  xsp_emit(&span);
}

void RequestSpans::emit(std::span<const Answer> batch,
                        std::span<const std::vector<StepTime>> steps) {
  for (const Answer& answer : batch) {
    const uint32_t thread = thread_for(answer);
    emit_part(queue_site_, thread, answer.arrival_ns, answer.free_ns);
    emit_part(batch_site_, thread, answer.free_ns, answer.formed_ns);
    if (answer.position < steps.size()) {
      for (const StepTime& step : steps[answer.position]) {
        emit_part(step.site, thread, step.start_ns, step.end_ns);
      }
    }
    emit_part(pipeline_site_, thread, answer.formed_ns, answer.ready_ns);
    emit_part(output_site_, thread, answer.computed_ns, answer.done_ns);
    const std::pair<uint32_t, int64_t> facts[] = {{request_key_, static_cast<int64_t>(answer.id)},
                                                  {batch_key_, static_cast<int64_t>(answer.batch)},
                                                  {position_key_, int64_t{answer.position}},
                                                  {instance_key_, int64_t{answer.instance}},
                                                  {waited_key_, answer.waited_ns},
                                                  {clock_key_, answer.clock_mhz}};
    xsp_value values[std::size(facts)] = {};
    size_t count = 0;
    for (const auto& [key, number] : facts) {
      if (number < 0) continue;  // not known
      values[count].key = key;
      values[count].kind = XSP_VALUE_INT;
      values[count++].value.as_int = number;
    }
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = request_site_;
    span.thread = thread;
    span.start_ns = answer.arrival_ns;
    span.duration_ns = answer.done_ns - answer.arrival_ns;
    span.values = values;
    span.value_count = count;
    xsp_emit(&span);
  }
}

}  // namespace xsp::process

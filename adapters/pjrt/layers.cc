#include "adapters/pjrt/layers.h"

#include <algorithm>

#include "xsp/adapter.hpp"

namespace xsp::pjrt {
namespace {

constexpr size_t kSpansPerDrain = 10'000;

std::string shapes_json(const std::vector<Value>& values) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : values) shapes.push_back(value.dimensions);
  return json_shapes(shapes);
}

std::string dtypes_json(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value& value : values) names.emplace_back(dtype_name(dtype_of(value.type)));
  return json_strings(names);
}

double bytes_of(const std::vector<Value>& values) {
  int64_t sum = 0;
  for (const Value& value : values) sum += std::max<int64_t>(value.bytes(), 0);
  return static_cast<double>(sum);
}

}  // namespace

uint32_t Layers::site(std::string_view given) {
  if (const auto known = sites_.find(given); known != sites_.end()) return known->second;
  const std::string name(given);
  const auto place = sites_.emplace(name, 0).first;
  const auto id = program_.by_name.find(name);
  if (id == program_.by_name.end()) {
    // A copy of results, or an instruction that was added later.
    place->second = xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), "device");
    return place->second;
  }
  const Instruction& instruction = program_.instructions.at(id->second);
  const uint32_t site = xsp_intern_site(XSP_LEVEL_LAYER, name.c_str(), instruction.opcode.c_str());
  std::vector<Value> read;
  double parameter_bytes = 0;
  for (const int64_t operand : instruction.operands) {
    const auto found = program_.instructions.find(operand);
    if (found == program_.instructions.end()) continue;
    const auto& outputs = found->second.outputs;
    read.insert(read.end(), outputs.begin(), outputs.end());
    if (found->second.is_constant) parameter_bytes += bytes_of(outputs);
  }
  const auto set = [site](const char* key, const std::string& value) {
    xsp_site_attribute(site, key, value.c_str());
  };
  set("input_shapes", shapes_json(read));
  set("input_dtypes", dtypes_json(read));
  set("output_shapes", shapes_json(instruction.outputs));
  set("output_dtypes", dtypes_json(instruction.outputs));
  set("source_layers", json_strings(instruction.sources));
  xsp_site_counter(site, "output_bytes", bytes_of(instruction.outputs));
  xsp_site_counter(site, "parameter_bytes", parameter_bytes);
  xsp_site_counter(site, "activation_bytes", bytes_of(read) - parameter_bytes);
  place->second = site;
  return site;
}

uint32_t Layers::site_of_instruction(std::string_view name) {
  if (const auto known = sites_.find(name); known != sites_.end()) return known->second;
  const std::string text(name);
  return program_.by_name.count(text) > 0 ? site(name) : sites_.emplace(text, 0).first->second;
}

void Layers::emit(const std::vector<Run>& runs, std::vector<DeviceEvent> events,
                  int64_t profile_start_ns) {
  if (runs.empty() || events.empty()) return;
  // Some versions count from the profiler's start.
  if (events.back().end_ns < runs.front().start_ns / 2) {
    for (DeviceEvent& event : events) {
      event.start_ns += profile_start_ns;
      event.end_ns += profile_start_ns;
    }
  }
  size_t emitted = 0;
  size_t at = 0;
  for (const Run& run : runs) {
    while (at < events.size() && events[at].end_ns <= run.start_ns) ++at;
    Lanes lanes(run.thread);
    while (at < events.size() && events[at].start_ns < run.end_ns) {
      const DeviceEvent& first = events[at];
      int64_t end_ns = first.end_ns;
      size_t next = at + 1;
      while (next < events.size() && !first.hlo_op.empty() && events[next].hlo_op == first.hlo_op &&
             events[next].line == first.line && events[next].start_ns < run.end_ns) {
        end_ns = std::max(end_ns, events[next++].end_ns);
      }
      xsp_complete_span span{};
      span.struct_size = sizeof span;
      span.site_id = site(first.hlo_op.empty() ? first.name : first.hlo_op);
      span.start_ns = std::max(first.start_ns, run.start_ns);
      span.duration_ns = std::max<int64_t>(std::min(end_ns, run.end_ns) - span.start_ns, 0);
      span.thread = lanes.thread(span.start_ns, span.start_ns + span.duration_ns);
      xsp_emit(&span);
      if (++emitted % kSpansPerDrain == 0) xsp_flush();
      at = next;
    }
  }
}

}  // namespace xsp::pjrt

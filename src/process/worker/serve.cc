// Runs a worker that has only a collector: see serve_collector.
#include <cmath>
#include <cstdio>

#include "process/worker/collectors.h"
#include "process/worker/protocol.h"
#include "shared/base/levels.h"

namespace xsp::process {
namespace {

// Formats a number so that it reads back the same; empty: not known.
std::string number_text(double value) {
  if (std::isnan(value)) return {};
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

Status probe(const WorkerOptions& options, const xsp_host* host, const std::string& why,
             const Send& send) {
  const std::string& path = options.collectors[0];
  XSP_TRY(const xsp_collector collector, Collectors::find(path));
  const std::string device = collector.device == nullptr ? "" : collector.device;
  std::string counters, absent, unavailable;
  if (!Collectors::watches(collector, options.device)) {
    unavailable = "it watches " + device + ", and the model runs on " + options.device;
  } else if (const auto found = Collectors::load(path, host, why); found.ok()) {
    counters = found->counters;
    absent = found->absent;
  } else {
    unavailable = found.error().text;
  }
  send({"probe", collector.name, levels_text(collector.levels), counters, absent, device,
        std::to_string(collector.counting), unavailable});
  return Ok{};
}

Status names(const WorkerOptions& options, const xsp_host* host, const std::string& why,
             const Send& send) {
  XSP_TRY(const xsp_collector collector, Collectors::find(options.collectors[0]));
  const char* list = "";
  if (collector.counter_names != nullptr && collector.counter_names(host, &list) != XSP_OK) {
    return not_available(why);
  }
  send({"names", list});
  return Ok{};
}

void send_state(const xsp_collector& collector, const xsp_host* host, const std::string& device,
                const Send& send) {
  const double unknown = std::nan("");
  xsp_device_state state{sizeof state, unknown, unknown, unknown,
                         unknown,      unknown, unknown, nullptr};
  if (collector.state != nullptr && collector.state(host, device.c_str(), &state) != XSP_OK) {
    state = {sizeof state, unknown, unknown, unknown, unknown, unknown, unknown, nullptr};
  }
  const char* reasons = state.throttle_reasons;
  send({"state", number_text(state.sm_clock_mhz), number_text(state.memory_clock_mhz),
        number_text(state.temperature_c), number_text(state.power_w),
        number_text(state.memory_used_bytes), number_text(state.memory_total_bytes),
        reasons == nullptr ? "" : "1", reasons == nullptr ? "" : reasons});
}

Status watch(const WorkerOptions& options, const xsp_host* host, const std::string& why,
             const Send& send, std::istream& commands) {
  XSP_TRY(const Collectors::Description found, Collectors::load(options.collectors[0], host, why));
  const xsp_collector& collector = found.collector;
  const char* device = options.device.c_str();
  xsp_device_report report{};
  report.struct_size = sizeof report;
  report.context = const_cast<Send*>(&send);
  report.fact = [](void* context, const char* key, const char* value) {
    (*static_cast<const Send*>(context))({"fact", key, value});
  };
  report.peak = [](void* context, const char* name, double value, const char* source) {
    (*static_cast<const Send*>(context))({"peak", name, number_text(value), source});
  };
  if (collector.describe != nullptr && collector.describe(host, device, &report) != XSP_OK) {
    return not_available(why);
  }
  send({"watching", collector.state == nullptr ? "0" : "1",
        collector.measure == nullptr ? "0" : "1"});
  for (std::string line; std::getline(commands, line);) {
    if (line == "quit") break;
    if (line == "state") {
      send_state(collector, host, options.device, send);
    } else if (line == "measure") {
      if (collector.measure != nullptr && collector.measure(host, device, &report) != XSP_OK) {
        return failed(why);
      }
      send({"measured"});
    } else {
      return failed("worker: unknown command '" + line + "'");
    }
  }
  return Ok{};
}

}  // namespace

Status serve_collector(const WorkerOptions& options, const xsp_host* host, const std::string& why,
                       const Send& send, std::istream& commands) {
  if (options.probe) return probe(options, host, why, send);
  if (options.names) return names(options, host, why, send);
  return watch(options, host, why, send, commands);
}

}  // namespace xsp::process

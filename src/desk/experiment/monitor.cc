#include "desk/experiment/monitor.h"

#include <charconv>
#include <chrono>

#include "process/worker/protocol.h"

namespace xsp::experiment {
namespace {

using Fields = std::vector<std::string>;
using std::chrono::steady_clock;

// A driver may take seconds to wake an idle GPU.
constexpr double kStartLimitS = 60;
constexpr double kStateLimitS = 5;
constexpr double kMeasureLimitS = 60;
constexpr size_t kStateFields = 9;

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::unique_ptr<Monitor>> Monitor::start(const std::filesystem::path& program,
                                                const std::filesystem::path& collector,
                                                const std::string& device,
                                                const std::atomic<int>& stop) {
  std::unique_ptr<Monitor> monitor(new Monitor(device, stop));
  XSP_TRY(monitor->process_,
          Process::start({program, "--collector", collector, "--watch", "--device", device}));
  XSP_TRY(const Fields fields, monitor->reply("watching", kStartLimitS));
  monitor->has_state_ = fields.size() > 1 && fields[1] == "1";
  monitor->can_measure_ = fields.size() > 2 && fields[2] == "1";
  // The process is no longer needed.
  if (!monitor->has_state_ && !monitor->can_measure_) {
    monitor->process_->end(steady_clock::now() + std::chrono::seconds(1));
  }
  return monitor;
}

Result<Fields> Monitor::reply(const std::string& wanted, double limit_s) {
  const TimePoint limit = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                                    std::chrono::duration<double>(limit_s));
  const auto until = [&] { return stop_.load() > 0 ? steady_clock::now() : limit; };
  for (std::string line;;) {
    const Process::Event event = process_->read_line(until, &line);
    if (event == Process::Event::kEnded) return failed("monitor: it " + process_->cause());
    if (event == Process::Event::kTimeout) {
      process_->end(steady_clock::now());
      return failed("monitor: no answer about " + device_ + " in time: it was killed");
    }
    Fields fields = process::split_fields(line);
    const std::string& what = fields[0];
    if (what == wanted) return fields;
    if (what == "fact" && fields.size() > 2) {
      facts_[fields[1]] = fields[2];
    } else if (what == "peak" && fields.size() > 3) {
      if (const auto value = number_of(fields[2]); value) {
        peaks_.push_back({device_, fields[1], *value, fields[3]});
      }
    } else if (what == "note" && fields.size() > 1) {
      notes_.push_back(std::move(fields[1]));
    } else if (what == "failed") {
      process_->end(steady_clock::now());
      return failed(fields.size() > 2 ? fields[2] : "monitor: it failed");
    }
  }
}

Result<Fields> Monitor::ask(const std::string& command, const std::string& wanted, double limit_s) {
  if (process_->has_ended()) return failed("monitor: it has ended");
  process_->send(command);
  return reply(wanted, limit_s);
}

machine::DeviceState Monitor::state() {
  machine::DeviceState state;
  const auto fields = ask("state", "state", kStateLimitS);
  if (!fields.ok() || fields->size() < kStateFields) return state;
  const Fields& f = *fields;
  state.sm_clock_mhz = number_of(f[1]);
  state.memory_clock_mhz = number_of(f[2]);
  state.temperature_c = number_of(f[3]);
  state.power_w = number_of(f[4]);
  state.memory_used_bytes = number_of(f[5]);
  state.memory_total_bytes = number_of(f[6]);
  if (!f[7].empty()) state.throttle_reasons = f[8];
  return state;
}

Status Monitor::measure() {
  XSP_TRY(const Fields fields, ask("measure", "measured", kMeasureLimitS));
  return Ok{};
}

void Monitors::start(const std::filesystem::path& program,
                     const std::vector<std::filesystem::path>& collectors) {
  for (const auto& collector : collectors) {
    auto monitor = Monitor::start(program, collector, device_, stop_);
    if (monitor.ok()) {
      monitors_.push_back(std::move(monitor).value());
    } else if (stop_.load() == 0) {
      notes_.push_back(collector.stem().string() + ": " + monitor.error().text);
    }
  }
}

std::map<std::string, std::string> Monitors::facts() const {
  std::map<std::string, std::string> facts;
  for (const auto& monitor : monitors_) {
    facts.insert(monitor->facts().begin(), monitor->facts().end());
  }
  return facts;
}

std::vector<machine::Peak> Monitors::peaks() const {
  std::vector<machine::Peak> peaks;
  for (const auto& monitor : monitors_) {
    peaks.insert(peaks.end(), monitor->peaks().begin(), monitor->peaks().end());
  }
  return peaks;
}

machine::DeviceState Monitors::state() {
  for (const auto& monitor : monitors_) {
    if (monitor->has_state()) return monitor->state();
  }
  return {};
}

void Monitors::measure() {
  for (const auto& monitor : monitors_) {
    if (!monitor->can_measure() || stop_.load() > 0) continue;
    const Status status = monitor->measure();
    if (!status.ok() && stop_.load() == 0) {
      notes_.push_back("ceilings of " + device_ + ": " + status.error().text);
    }
  }
}

std::vector<std::string> Monitors::take_notes() {
  std::vector<std::string> notes = std::exchange(notes_, {});
  for (const auto& monitor : monitors_) {
    for (std::string& note : monitor->take_notes()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace xsp::experiment

// Evaluates the runs of an experiment when they are done.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "desk/experiment/experiment.h"

namespace xsp::experiment {

namespace {

// The device's clock has discrete steps. A larger relative span means that the clock changed.
constexpr double kClockSpanMax = 0.03;
// Shares of the processors' time above which the numbers are doubtful.
constexpr double kForeignLoadMax = 0.05;
constexpr double kStolenMax = 0.02;
// The shortest time to judge, because processor times are counted in hundredths of a second.
constexpr double kJudgedMin = 1;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

}  // namespace

std::vector<Overhead> overheads_of(const std::vector<Run>& runs) {
  std::vector<Overhead> found;
  size_t first = 0;  // first run of the batch size
  for (size_t i = 1; i < runs.size(); ++i) {
    const bool same_batch = runs[i].planned.batch == runs[first].planned.batch;
    if (!same_batch) first = i;
    if (!same_batch || runs[i].planned.pace != Pace::kInterleaved) continue;
    const Run& without = runs[i].planned.counters.empty() ? runs[i - 1] : runs[first];
    if (without.series.latency_ns.count == 0 || runs[i].series.latency_ns.count == 0) continue;
    const statistics::Difference latency = difference(without.series, runs[i].series);
    found.push_back({runs[i].planned.run_id, without.planned.run_id, latency});
  }
  return found;
}

std::vector<std::string> doubts_about_device(const std::vector<Series>& series) {
  size_t blocks = 0, throttled = 0;
  std::set<std::string> reasons;
  double low_mhz = 0, high_mhz = 0;
  for (const Series& one : series) {
    for (const MeasuredBlock& block : one.blocks) {
      const machine::DeviceState& device = block.machine.device;
      ++blocks;
      if (device.throttle_reasons && !device.throttle_reasons->empty()) {
        ++throttled;
        reasons.insert(*device.throttle_reasons);
      }
      if (!device.sm_clock_mhz) continue;
      low_mhz = high_mhz == 0 ? *device.sm_clock_mhz : std::min(low_mhz, *device.sm_clock_mhz);
      high_mhz = std::max(high_mhz, *device.sm_clock_mhz);
    }
  }
  std::vector<std::string> doubts;
  if (throttled > 0) {
    std::string why;
    for (const std::string& reason : reasons) why += (why.empty() ? "" : ", ") + reason;
    doubts.push_back("the GPU held its clock down in " + std::to_string(throttled) + " of " +
                     std::to_string(blocks) + " blocks (" + why +
                     "): its latencies are those of a GPU at that load and temperature");
  }
  if (high_mhz > 0 && (high_mhz - low_mhz) / high_mhz > kClockSpanMax) {
    doubts.push_back("the GPU's clock moved between " + std::to_string(std::lround(low_mhz)) +
                     " and " + std::to_string(std::lround(high_mhz)) +
                     " MHz while this was measured: lock it with 'nvidia-smi -lgc', if you may");
  }
  return doubts;
}

std::optional<Load> load_between(const std::optional<machine::CpuTimes>& before,
                                 const std::optional<machine::CpuTimes>& after, double ours_s,
                                 double duration_s) {
  if (!before || !after || duration_s < kJudgedMin) return std::nullopt;
  Load load;
  load.capacity_s = duration_s * std::min(before->processors, after->processors);
  // The clocks of processors and of processes advance in different steps, so the difference is
  // clamped.
  const auto within = [&load](double time_s) { return std::clamp(time_s, 0.0, load.capacity_s); };
  load.other_s = within(after->busy_s - before->busy_s - ours_s);
  load.stolen_s = within(after->stolen_s - before->stolen_s);
  return load;
}

std::vector<std::string> doubts_about_load(const Load& load) {
  std::vector<std::string> doubts;
  if (load.other_share() > kForeignLoadMax) {
    doubts.push_back("other programs used " + percent(load.other_share()) +
                     " of the processors while this was measured: stop them for undisturbed "
                     "numbers");
  }
  if (load.stolen_share() > kStolenMax) {
    doubts.push_back("the hypervisor gave " + percent(load.stolen_share()) +
                     " of the processors' time to other machines");
  }
  return doubts;
}

std::map<std::string, std::string> facts_about_load(const std::vector<Load>& loads) {
  if (loads.empty()) return {};
  Load all;
  double most = 0;
  for (const Load& load : loads) {
    all.other_s += load.other_s;
    all.stolen_s += load.stolen_s;
    all.capacity_s += load.capacity_s;
    most = std::max(most, load.other_share());
  }
  const auto number = [](double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", 100 * share);
    return std::string(text);
  };
  return {{"machine.other_load_pct", number(all.other_share())},
          {"machine.other_load_max_pct", number(most)},
          {"machine.stolen_pct", number(all.stolen_share())}};
}

}  // namespace xsp::experiment

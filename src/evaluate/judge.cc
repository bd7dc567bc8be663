// What an experiment makes of its runs when they are done.
#include <algorithm>
#include <cmath>
#include <set>

#include "evaluate/experiment.h"

namespace xsp::evaluate {

namespace {

// The device's clock is read in steps; more than this, and it moved.
constexpr double kClockSpanMax = 0.03;

}  // namespace

std::vector<Overhead> overheads_of(const std::vector<Run>& runs) {
  std::vector<Overhead> found;
  size_t first = 0;  // of the batch
  for (size_t i = 1; i < runs.size(); ++i) {
    const bool same_batch = runs[i].planned.batch == runs[first].planned.batch;
    if (!same_batch) first = i;
    if (!same_batch || runs[i].planned.pace != Pace::kInterleaved) continue;
    const Run& without = runs[i].planned.counters.empty() ? runs[i - 1] : runs[first];
    const Difference latency = difference(without.series, runs[i].series);
    if (latency.pairs == 0) continue;
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
      const DeviceState& device = block.machine.device;
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

}  // namespace xsp::evaluate

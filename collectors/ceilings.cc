// ceilings: finds the highest rates that a CUDA device can reach, both from its attributes (clock,
// multiprocessors, width of its memory) and by short kernels that it times on the device. It takes
// part in no run.
#include <algorithm>
#include <map>
#include <string>

#include "collectors/ceilings/driver.h"
#include "collectors/ceilings/kernels.h"
#include "collectors/ceilings/memory.h"
#include "collectors/ceilings/rates.h"
#include "collectors/ceilings/runner.h"
#include "xsp/plugin.hpp"

namespace xsp::ceilings {
namespace {

constexpr const char* kAttribute = "attribute";
constexpr const char* kMeasured = "measured";
// A measured rate may exceed the rate by attributes by the resolution of the device's clock, and by
// no more.
constexpr double kExcess = 1.01;

int capability_of(const Device& device) {
  return 10 * device.attribute(Attribute::kMajor) + device.attribute(Attribute::kMinor);
}

// Returns the ceilings by attributes, by name.
std::map<std::string, double> attribute_peaks(const Device& device) {
  std::map<std::string, double> peaks;
  const double clock_hz = 1e3 * device.attribute(Attribute::kClockKhz);
  const double count = device.attribute(Attribute::kMultiprocessors);
  if (const Rates* rates = rates_of(capability_of(device)); rates != nullptr) {
    for (const auto& [name, operations] : named(*rates)) {
      peaks[name] = clock_hz * count * operations;
    }
  }
  // The memory makes two transfers per clock, and a byte has eight bits.
  const double memory_hz = 1e3 * device.attribute(Attribute::kMemoryClockKhz);
  const double bandwidth = memory_hz * 2 * device.attribute(Attribute::kMemoryBusBits) / 8;
  if (bandwidth > 0) peaks["memory_bytes_per_s"] = bandwidth;
  return peaks;
}

// Holds the measured rates, and compares them with those by attributes.
class Findings {
 public:
  Findings(const Device& device, const xsp_host* host, const xsp_device_report* report)
      : limits_(attribute_peaks(device)), host_(host), report_(report) {}

  void keep(const std::string& name, double value) {
    const auto limit = limits_.find(name);
    if (limit != limits_.end() && value > limit->second * kExcess) {
      note(host_, "ceilings: " + name + ": measured " + std::to_string(value) + ", above the " +
                      std::to_string(limit->second) + " of the device's attributes: not kept");
      return;
    }
    double& best = best_[name];
    best = std::max(best, value);
  }
  void tell() const {
    for (const auto& [name, value] : best_) {
      report_->peak(report_->context, name.c_str(), value, kMeasured);
    }
  }

 private:
  const std::map<std::string, double> limits_;
  std::map<std::string, double> best_;
  const xsp_host* host_;
  const xsp_device_report* report_;
};

xsp_status probe(const xsp_host* host, xsp_collector_probe* probe) {
  return guarded(host, [&] {
    (void)Device("cuda:0");
    fill(probe, xsp_collector_probe{0, "", nullptr});
    return XSP_OK;
  });
}

xsp_status start(const xsp_host*, const xsp_collect_options*) { return XSP_OK; }
xsp_status stop() { return XSP_OK; }

xsp_status describe(const xsp_host* host, const char* name, const xsp_device_report* report) {
  return guarded(host, [&] {
    const Device device(name);
    const std::string key = "gpu." + std::to_string(device.number()) + ".";
    const auto fact = [&](const char* what, const std::string& value) {
      report->fact(report->context, (key + what).c_str(), value.c_str());
    };
    const int capability = capability_of(device);
    fact("name", device.name());
    fact("compute_capability",
         std::to_string(capability / 10) + "." + std::to_string(capability % 10));
    fact("sm_count", std::to_string(device.attribute(Attribute::kMultiprocessors)));
    fact("memory_bytes", std::to_string(device.memory_bytes()));
    fact("l2_bytes", std::to_string(device.attribute(Attribute::kL2Bytes)));
    fact("max_sm_clock_mhz", std::to_string(device.attribute(Attribute::kClockKhz) / 1000));
    for (const auto& [peak, value] : attribute_peaks(device)) {
      report->peak(report->context, peak.c_str(), value, kAttribute);
    }
    return XSP_OK;
  });
}

xsp_status measure(const xsp_host* host, const char* name, const xsp_device_report* report) {
  return guarded(host, [&] {
    const Device device(name);
    const Context context(device);
    Findings findings(device, host, report);
    // A ceiling that cannot be measured does not stop the others: its failure becomes a note.
    xsp_host notes = *host;
    notes.fail = host->note;
    const auto run = [&](const std::vector<Kernel>& kernels) {
      for (const Kernel& kernel : kernels) {
        (void)guarded(&notes, [&] {
          Runner runner(device, kernel);
          runner.check();
          findings.keep(kernel.peak, runner.rate());
          return XSP_OK;
        });
      }
    };
    // The memory is measured after the clock has risen. The tensor cores come last, because they
    // reach the power limit, and everything is slower for a while afterwards.
    const int capability = capability_of(device);
    run(vector_kernels(capability));
    (void)guarded(&notes, [&] {
      measure_memory(device, [&](const char* peak, double value) { findings.keep(peak, value); });
      return XSP_OK;
    });
    run(tensor_kernels(capability));
    findings.tell();
    return XSP_OK;
  });
}

}  // namespace
}  // namespace xsp::ceilings

extern "C" XSP_API const xsp_collector xsp_collector_entry = {
    .struct_size = sizeof(xsp_collector),
    .abi = XSP_PLUGIN_ABI,
    .name = "ceilings",
    .help = "ceilings of a GPU need the NVIDIA driver",
    .levels = 0,
    .probe = xsp::ceilings::probe,
    .start = xsp::ceilings::start,
    .begin = nullptr,
    .end = nullptr,
    .stop = xsp::ceilings::stop,
    .device = "cuda",
    .counting = XSP_COUNTS_INFERENCES,
    .counter_names = nullptr,
    .runs_needed = nullptr,
    .describe = xsp::ceilings::describe,
    .measure = xsp::ceilings::measure,
    .state = nullptr,
    .set_levels = nullptr,
    .is_preloaded = 0,
};

// nvml: reads a GPU's state, and the energy that it uses.
//
// The counter `energy` has a run of its own: while the model runs without a pause, a thread of this
// collector watches the GPU's energy counter, which changes every 20 to 100 ms, and emits a span
// `sample` from one change to the next. So the energy of a sample is exact, its ends are known to
// kPollNs, and it covers the inferences that ran between them. Other work on the GPU is counted as
// well. With `layer_energy` the run continues: the adapter repeats each layer alone (plugin.h),
// while the samples continue.
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>

#include "collectors/nvml/library.h"
#include "xsp/plugin.hpp"

namespace xsp::nvml {
namespace {

constexpr long kPollNs = 2'000'000;
// A shorter time at a reduced clock between two readings of the state is not reported.
constexpr uint64_t kViolationNs = 1'000'000;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Represents a thread that emits one span for each change of the energy counter.
class Sampler {
 public:
  explicit Sampler(const std::string& device) : gpu_(device) {
    site_ = xsp_intern_site(XSP_LEVEL_APPLICATION, "sample", "nvml");
    power_ = xsp_intern_key("power_w");
    energy_ = xsp_intern_key("energy_j");
    sm_clock_ = xsp_intern_key("sm_clock_mhz");
    memory_clock_ = xsp_intern_key("memory_clock_mhz");
    temperature_ = xsp_intern_key("temperature_c");
    throttle_ = xsp_intern_key("throttle_reasons");
    thread_ = std::thread([this] { sample(); });
  }
  ~Sampler() {
    stop_.store(true);
    thread_.join();
  }

 private:
  void sample() {
    pthread_setname_np(pthread_self(), "xsp-nvml");
    auto before = gpu_.energy_j();
    bool has_moved = false;
    int64_t start_ns = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      const timespec pause{0, kPollNs};
      nanosleep(&pause, nullptr);
      const auto energy = gpu_.energy_j();
      if (!energy || !before || *energy == *before) continue;
      const int64_t now_ns = xsp_now_ns();
      // Before the first change, the time since which the counter has had its value is unknown.
      if (has_moved) emit(start_ns, now_ns, *energy - *before);
      has_moved = true;
      start_ns = now_ns;
      before = energy;
    }
  }

  void emit(int64_t start_ns, int64_t end_ns, double energy_j) const {
    std::vector<xsp_value> values;
    const auto add = [&values](uint32_t key, const std::optional<double>& value) {
      if (!value) return;
      xsp_value one{key, XSP_VALUE_COUNTER, {}};
      one.value.as_double = *value;
      values.push_back(one);
    };
    add(energy_, energy_j);
    add(power_, gpu_.power_w());
    add(sm_clock_, gpu_.sm_clock_mhz());
    add(memory_clock_, gpu_.memory_clock_mhz());
    add(temperature_, gpu_.temperature_c());
    const auto reasons = gpu_.throttle_reasons();
    const std::string text = reasons ? joined(*reasons) : "";
    if (reasons) {
      xsp_value one{throttle_, XSP_VALUE_TEXT, {}};
      one.value.as_text = text.c_str();
      values.push_back(one);
    }
    xsp_complete_span span{};
    span.struct_size = sizeof span;
    span.site_id = site_;
    span.start_ns = start_ns;
    span.duration_ns = end_ns - start_ns;
    span.values = values.data();
    span.value_count = values.size();
    span.device = static_cast<uint32_t>(gpu_.number()) + 1;
    xsp_emit(&span);
  }

  const Gpu gpu_;
  uint32_t site_, power_, energy_, sm_clock_, memory_clock_, temperature_, throttle_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

std::unique_ptr<Sampler>& sampler() {
  static std::unique_ptr<Sampler> the_sampler;
  return the_sampler;
}

xsp_status probe(const xsp_host* host, xsp_collector_probe* probe) {
  return guarded(host, [&] {
    const bool counts = Gpu("cuda:0").energy_j().has_value();
    fill(probe, xsp_collector_probe{
                    0, counts ? "energy,layer_energy" : "",
                    counts ? nullptr : "energy, layer_energy: this GPU does not count it"});
    return XSP_OK;
  });
}

xsp_status start(const xsp_host* host, const xsp_collect_options* given) {
  return guarded(host, [&] {
    const auto options = whole(given);
    if (options.counter_count > 0) sampler() = std::make_unique<Sampler>(options.device);
    return XSP_OK;
  });
}

xsp_status stop() {
  sampler().reset();
  return XSP_OK;
}

std::string number_text(double value) { return std::to_string(std::llround(value)); }

xsp_status describe(const xsp_host* host, const char* device, const xsp_device_report* report) {
  return guarded(host, [&] {
    const Gpu gpu(device);
    const std::string prefix = "gpu." + std::to_string(gpu.number()) + ".";
    const auto fact = [&](const std::string& key, const std::string& value) {
      if (!value.empty()) report->fact(report->context, key.c_str(), value.c_str());
    };
    const auto number = [&](const char* key, const std::optional<double>& value) {
      if (value) fact(prefix + key, number_text(*value));
    };
    fact(prefix + "name", gpu.name());
    fact(prefix + "uuid", gpu.uuid());
    fact("gpu.driver_version", gpu.driver_version());
    fact("gpu.cuda_version", gpu.cuda_version());
    number("max_sm_clock_mhz", gpu.max_sm_clock_mhz());
    number("application_sm_clock_mhz", gpu.application_sm_clock_mhz());
    number("max_memory_clock_mhz", gpu.max_memory_clock_mhz());
    number("power_limit_w", gpu.power_limit_w());
    if (const auto memory = gpu.memory()) number("memory_bytes", memory->total_bytes);
    return XSP_OK;
  });
}

xsp_status state(const xsp_host* host, const char* device, xsp_device_state* state) {
  return guarded(host, [&] {
    static const Gpu gpu(device);
    static auto before = gpu.violations();
    static std::string throttled;
    const auto value = [](const std::optional<double>& known) {
      return known ? *known : std::nan("");
    };
    auto reasons = gpu.throttle_reasons();
    const auto now = gpu.violations();
    // This adds the events since the last call to the state of this moment.
    if (now && before) {
      if (!reasons) reasons.emplace();
      const auto add = [&reasons](const char* reason, uint64_t ns) {
        const bool is_known = std::find(reasons->begin(), reasons->end(), reason) != reasons->end();
        if (ns > kViolationNs && !is_known) reasons->push_back(reason);
      };
      add("power cap", now->power_ns - before->power_ns);
      add("thermal slowdown", now->thermal_ns - before->thermal_ns);
    }
    before = now;
    if (reasons) throttled = joined(*reasons);
    const auto memory = gpu.memory();
    fill(state, xsp_device_state{0, value(gpu.sm_clock_mhz()), value(gpu.memory_clock_mhz()),
                                 value(gpu.temperature_c()), value(gpu.power_w()),
                                 memory ? memory->used_bytes : std::nan(""),
                                 memory ? memory->total_bytes : std::nan(""),
                                 reasons ? throttled.c_str() : nullptr});
    return XSP_OK;
  });
}

}  // namespace
}  // namespace xsp::nvml

extern "C" XSP_API const xsp_collector xsp_collector_entry = {
    .struct_size = sizeof(xsp_collector),
    .abi = XSP_PLUGIN_ABI,
    .name = "nvml",
    .help = "energy and the state of a GPU need the NVIDIA driver's libnvidia-ml.so.1",
    .levels = 0,
    .probe = xsp::nvml::probe,
    .start = xsp::nvml::start,
    .begin = nullptr,
    .end = nullptr,
    .stop = xsp::nvml::stop,
    .device = "cuda",
    .counting = XSP_COUNTS_TIME,
    .counter_names = nullptr,
    .runs_needed = nullptr,
    .describe = xsp::nvml::describe,
    .measure = nullptr,
    .state = xsp::nvml::state,
    .set_levels = nullptr,
    .is_preloaded = 0,
};

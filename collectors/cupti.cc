// cupti: records the calls of CUDA and the work that NVIDIA's GPUs execute, by CUPTI. Its parts are
// in cupti/.
//
//   library    finds and loads libcupti, and knows the defects of its versions     search
//   tracing    a run: switches the recording on, and off again                     buffers, driver
//   records    turns CUPTI's records into spans              clocks, names, api_calls, memory,
//   graphs counting   a run with counters, which counts instead of tracing
//
// A run either traces or counts. While it traces, the program's threads do only the work that CUPTI
// itself does for each launch; a thread of this collector turns records into spans.

#include <memory>
#include <string>
#include <vector>

#include "collectors/cupti/counting.h"
#include "collectors/cupti/driver.h"
#include "collectors/cupti/library.h"
#include "collectors/cupti/tracing.h"
#include "xsp/plugin.hpp"

namespace xsp::cupti {
namespace {

struct State {
  std::unique_ptr<Library> cupti;
  std::unique_ptr<Driver> driver;
  std::unique_ptr<Tracing> tracing;
  bool is_counting = false;
  std::string counters;
  std::string absent;
  std::string names;
};

// The state is never destroyed: CUPTI may still return buffers while the process ends.
State& state() {
  static State* the_state = new State;
  return *the_state;
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

// Loads the driver and CUPTI, once.
xsp_status load(const xsp_host* host) {
  State& s = state();
  std::string why;
  if (s.driver == nullptr) s.driver = Driver::load(&why);
  if (s.driver == nullptr) return fail(host, XSP_NOT_AVAILABLE, why);
  if (s.cupti == nullptr) s.cupti = Library::open(&why);
  if (s.cupti == nullptr) return fail(host, XSP_NOT_AVAILABLE, why);
  return XSP_OK;
}

xsp_status initialize(const xsp_host* host) {
  const xsp_status loaded = load(host);
  if (loaded != XSP_OK) return loaded;
  std::string why;
  return state().driver->initialize(&why) ? XSP_OK : fail(host, XSP_NOT_AVAILABLE, why);
}

xsp_status probe(const xsp_host* host, xsp_collector_probe* out) {
  return guarded(host, [&] {
    State& s = state();
    const xsp_status loaded = initialize(host);
    if (loaded != XSP_OK) return loaded;
    const std::string why = obstacle(host, *s.cupti);
    if (!why.empty()) return fail(host, XSP_NOT_AVAILABLE, why);
    s.absent.clear();
    s.counters = joined(countable(*s.cupti, &s.absent));
    out->counters = s.counters.c_str();
    out->absent = s.absent.empty() ? nullptr : s.absent.c_str();
    return XSP_OK;
  });
}

xsp_status start(const xsp_host* host, const xsp_collect_options* given) {
  return guarded(host, [&] {
    State& s = state();
    // This makes no call of the driver: the program may be initialising it at this very moment.
    const xsp_status loaded = load(host);
    if (loaded != XSP_OK) return loaded;
    const xsp_collect_options options = whole(given);
    s.is_counting = options.counter_count > 0;
    if (s.is_counting) return start_counting(host, *s.cupti, options);
    s.tracing = std::make_unique<Tracing>(*s.cupti, *s.driver, options.levels, options.flush_ms);
    const xsp_status started = s.tracing->start(host);
    if (started != XSP_OK) s.tracing.reset();
    return started;
  });
}

void begin() {
  if (state().is_counting) begin_counting();
}

void end(xsp_span* span) {
  if (state().is_counting) end_counting(span);
}

void set_levels(uint32_t levels) {
  if (state().tracing != nullptr) state().tracing->set_levels(levels);
}

xsp_status stop() {
  State& s = state();
  if (s.is_counting) return stop_counting();
  s.tracing.reset();
  return XSP_OK;
}

xsp_status names_of_counters(const xsp_host* host, const char** names) {
  return guarded(host, [&] {
    State& s = state();
    const xsp_status loaded = initialize(host);
    if (loaded != XSP_OK) return loaded;
    std::string absent;
    s.names = joined(counter_names(*s.cupti, &absent));
    *names = s.names.c_str();
    return absent.empty() ? XSP_OK : fail(host, XSP_NOT_AVAILABLE, absent);
  });
}

xsp_status describe(const xsp_host* host, const char*, const xsp_device_report* report) {
  return guarded(host, [&] {
    const xsp_status loaded = initialize(host);
    if (loaded != XSP_OK) return loaded;
    report->fact(report->context, "cupti_version", version_text(state().cupti->version()).c_str());
    report->fact(report->context, "cupti_library", state().cupti->path().c_str());
    std::string defects;
    for (const std::string& line : defect_notes(state().cupti->version())) {
      defects += (defects.empty() ? "" : "; ") + line;
    }
    if (!defects.empty()) {
      report->fact(report->context, "cupti_known_defects", defects.c_str());
    }
    return XSP_OK;
  });
}

}  // namespace
}  // namespace xsp::cupti

namespace c = xsp::cupti;

extern "C" XSP_API const xsp_collector xsp_collector_entry = {
    .struct_size = sizeof(xsp_collector),
    .abi = XSP_PLUGIN_ABI,
    .name = "cupti",
    .help =
        "needs an NVIDIA GPU, its driver and CUPTI: install the CUDA toolkit or `pip install "
        "nvidia-cuda-cupti`",
    .levels = XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL),
    .probe = c::probe,
    .start = c::start,
    .begin = c::begin,
    .end = c::end,
    .stop = c::stop,
    .device = "cuda",
    .counting = XSP_COUNTS_SPANS,
    .counter_names = c::names_of_counters,
    .runs_needed = c::runs_needed,
    .describe = c::describe,
    .measure = nullptr,
    .state = nullptr,
    .set_levels = c::set_levels,
    .is_preloaded = 0,
};

#include "collectors/cupti/counting.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "collectors/cupti/counting_api.h"
#include "collectors/cupti/counting_chip.h"
#include "collectors/cupti/counting_formulae.h"
#include "collectors/cupti/counting_permission.h"
#include "collectors/cupti/counting_session.h"
#include "collectors/cupti/driver.h"
#include "xsp/plugin.hpp"

namespace xsp::cupti {
namespace {

struct Counting {
  CountingApi api;
  std::unique_ptr<Driver> driver;
  std::unique_ptr<KernelSites> sites;
  std::unique_ptr<CountingSession> session;
  const xsp_host* host = nullptr;
};

// The object is never destroyed: callbacks may still come while the process ends.
Counting& counting() {
  static Counting* the_counting = new Counting;
  return *the_counting;
}

bool load(const Library& library, CountingApi* api, std::string* why) {
  // CUPTI's facts of chips are in a second library beside libcupti, which libcupti opens by its
  // bare name.
  const std::string folder = library.path().substr(0, library.path().rfind('/') + 1);
  if (!folder.empty()) (void)dlopen((folder + "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const char* missing = api->load(
      [&](const char* name) { return library.symbol(name); },
      [&](const char* name) { return driver == nullptr ? nullptr : dlsym(driver, name); });
  if (missing == nullptr) return true;
  *why = "hardware counters: CUPTI " + version_text(library.version()) + " or the driver has no " +
         missing + ": use CUDA 12.6 or newer";
  return false;
}

// Returns CUPTI's name of a device's chip. If it cannot be counted, returns an empty name and a
// line in *why.
std::string chip_of(const CountingApi& api, size_t device, std::string* why) {
  XSP_CUPTI_PARAMS(CUpti_Profiler_Initialize, initialize);
  const CUptiResult result = api.cuptiProfilerInitialize(&initialize);
  if (result != CUPTI_SUCCESS) {
    *why = refusal(api, result);
    return "";
  }
  XSP_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported, supported);
  supported.cuDevice = static_cast<CUdevice>(device);
  if (api.cuptiProfilerDeviceSupported(&supported) == CUPTI_SUCCESS) {
    *why = unsupported(supported);
    if (!why->empty()) return "";
  }
  XSP_CUPTI_PARAMS(CUpti_Device_GetChipName, chip);
  chip.deviceIndex = device;
  const CUptiResult named = api.cuptiDeviceGetChipName(&chip);
  if (named != CUPTI_SUCCESS) {
    *why = refusal(api, named);
    return "";
  }
  return chip.pChipName;
}

// Opens the chip of a device that this process may count.
std::unique_ptr<Chip> open_chip(const Library& library, CountingApi* api, std::string* why) {
  if (!load(library, api, why)) return nullptr;
  *why = forbidden(read_driver_parameters(), geteuid() == 0);
  if (!why->empty()) return nullptr;
  const std::string name = chip_of(*api, 0, why);
  return name.empty() ? nullptr : Chip::open(*api, name, why);
}

// Returns 1 for "cuda:1".
size_t device_index(const char* device) {
  const char* colon = device == nullptr ? nullptr : std::strchr(device, ':');
  return colon == nullptr ? 0 : std::strtoul(colon + 1, nullptr, 10);
}

}  // namespace

std::vector<std::string> countable(const Library& library, std::string* absent) {
  CountingApi api;
  const std::unique_ptr<Chip> chip = open_chip(library, &api, absent);
  if (chip == nullptr) return {};
  std::vector<std::string> unknown;
  const CounterPlan plan = plan_counters(
      {kRoofline}, [&](const std::string& metric) { return chip->has_metric(metric); }, &unknown);
  std::vector<std::string> names = {kRoofline};
  for (const CounterPlan::Counter& counter : plan.counters) names.push_back(counter.name);
  return names;
}

std::vector<std::string> counter_names(const Library& library, std::string* absent) {
  CountingApi api;
  const std::unique_ptr<Chip> chip = open_chip(library, &api, absent);
  return chip == nullptr ? std::vector<std::string>() : chip->metrics();
}

xsp_status start_counting(const xsp_host* host, const Library& library,
                          const xsp_collect_options& options) {
  return guarded(host, [&] {
    Counting& c = counting();
    std::string why;
    if (!load(library, &c.api, &why)) return fail(host, XSP_NOT_AVAILABLE, why);
    if (c.driver == nullptr) c.driver = Driver::open(&why);
    if (c.driver == nullptr) return fail(host, XSP_NOT_AVAILABLE, why);
    const std::string chip = chip_of(c.api, device_index(options.device), &why);
    if (chip.empty()) return fail(host, XSP_NOT_AVAILABLE, why);
    c.host = host;
    c.sites = std::make_unique<KernelSites>(
        [](uint32_t device) { return counting().driver->limits(device); });
    CountingOptions wanted;
    wanted.levels = options.levels;
    wanted.counters.assign(options.counters, options.counters + options.counter_count);
    wanted.replay = options.replay;
    wanted.reuse = options.reuse != 0;
    const auto say = [](const std::string& text) { note(counting().host, text); };
    c.session = CountingSession::open(c.api, chip, wanted, c.sites.get(), say, &why);
    return c.session == nullptr ? fail(host, XSP_NOT_AVAILABLE, why) : XSP_OK;
  });
}

void begin_counting() {
  Counting& c = counting();
  if (c.session == nullptr) return;
  (void)guarded(c.host, [&] {
    c.session->begin();
    return XSP_OK;
  });
}

void end_counting(xsp_span* span) {
  Counting& c = counting();
  if (c.session == nullptr) return;
  (void)guarded(c.host, [&] {
    c.session->end(span);
    return XSP_OK;
  });
}

xsp_status stop_counting() {
  Counting& c = counting();
  if (c.session == nullptr) return XSP_OK;
  return guarded(c.host, [&] {
    c.session->finish();
    c.session.reset();
    return XSP_OK;
  });
}

uint64_t runs_needed() {
  Counting& c = counting();
  return c.session == nullptr ? 1 : c.session->runs_needed();
}

}  // namespace xsp::cupti

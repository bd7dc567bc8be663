#include "collectors/cupti/names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "xsp/plugin.hpp"

namespace xsp::cupti {
namespace {

// A kernel may have very many geometries (a sequence grows, and the grid with it). Beyond this
// number, further launches share one more site without a geometry.
constexpr size_t kGeometriesMax = 1024;

std::string triple(const uint32_t (&sides)[3]) {
  return '[' + std::to_string(sides[0]) + ',' + std::to_string(sides[1]) + ',' +
         std::to_string(sides[2]) + ']';
}

}  // namespace

std::string demangled(const char* name) {
  // The demangler would read a plain name as that of a type: "f" as float.
  if (std::strncmp(name, "_Z", 2) != 0) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

KernelSites::KernelSites(std::function<DeviceLimits(uint32_t)> limits_of)
    : limits_of_(std::move(limits_of)) {}

const DeviceLimits& KernelSites::limits(uint32_t device) {
  const auto known = limits_.find(device);
  if (known != limits_.end()) return known->second;
  return limits_.emplace(device, limits_of_(device)).first->second;
}

uint32_t KernelSites::site_of(std::string_view mangled, const Geometry& geometry, uint32_t device) {
  auto found = kernels_.find(mangled);
  if (found == kernels_.end()) {
    const std::string key(mangled);
    found = kernels_.emplace(key, Kernel{valid_utf8(demangled(key.c_str())), {}}).first;
  }
  Kernel& kernel = found->second;
  std::array<uint32_t, 9> shape = {geometry.grid[0],
                                   geometry.grid[1],
                                   geometry.grid[2],
                                   geometry.block[0],
                                   geometry.block[1],
                                   geometry.block[2],
                                   geometry.registers,
                                   geometry.static_shared_bytes,
                                   geometry.dynamic_shared_bytes};
  auto site = kernel.sites.find(shape);
  if (site != kernel.sites.end()) return site->second;
  if (kernel.sites.size() >= kGeometriesMax) {
    shape.fill(0);
    const auto [common, is_new] = kernel.sites.try_emplace(shape, 0);
    if (is_new) {
      common->second = xsp_intern_site(XSP_LEVEL_KERNEL, kernel.name.c_str(), "kernel");
      xsp_site_attribute(common->second, "mangled_name", found->first.c_str());
    }
    return common->second;
  }
  const uint32_t id = make_site(found->first, kernel, geometry, device);
  kernel.sites.emplace(shape, id);
  return id;
}

uint32_t KernelSites::make_site(const std::string& mangled, const Kernel& kernel,
                                const Geometry& geometry, uint32_t device) {
  const uint32_t site = xsp_new_site(XSP_LEVEL_KERNEL, kernel.name.c_str(), "kernel");
  if (site == 0) return 0;
  xsp_site_attribute(site, "mangled_name", valid_utf8(mangled).c_str());
  xsp_site_attribute(site, "grid", triple(geometry.grid).c_str());
  xsp_site_attribute(site, "block", triple(geometry.block).c_str());
  xsp_site_counter(site, "dynamic_shared_bytes", geometry.dynamic_shared_bytes);
  if (geometry.registers == 0) return site;
  xsp_site_counter(site, "registers_per_thread", geometry.registers);
  xsp_site_counter(site, "static_shared_bytes", geometry.static_shared_bytes);
  const Occupancy occupancy = occupancy_of(limits(device), geometry);
  if (occupancy.blocks == 0) return site;
  xsp_site_attribute(site, "occupancy_limiter", occupancy.limiter);
  xsp_site_counter(site, "theoretical_occupancy_pct", occupancy.theoretical_pct);
  xsp_site_counter(site, "waves", occupancy.waves);
  return site;
}

}  // namespace xsp::cupti

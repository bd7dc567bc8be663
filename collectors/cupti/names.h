// Names of kernels, and the sites of their launches.
//
// Launches of a kernel with one geometry share a site, which carries the geometry and the facts
// derived from it. Another geometry has another site of the same name.
//
// Thread rule: one thread at a time.
//
// A kernel has up to 1024 such sites; its facts are written once, not per launch.
#ifndef XSP_COLLECTORS_CUPTI_NAMES_H_
#define XSP_COLLECTORS_CUPTI_NAMES_H_

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collectors/cupti/occupancy.h"

namespace xsp::cupti {

// Returns the name in the source, "void axpy<float>(int, float*)", or the name itself if it is not
// mangled.
std::string demangled(const char* name);

class KernelSites {
 public:
  // `limits_of` is called once per device.
  explicit KernelSites(std::function<DeviceLimits(uint32_t device)> limits_of);
  // Returns the site, which is created at the first such launch. Returns 0 if there is no room for
  // it (xsp counts that).
  uint32_t site_of(std::string_view mangled, const Geometry& geometry, uint32_t device);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Kernel {
    std::string name;
    std::map<std::array<uint32_t, 9>, uint32_t> sites;  // by geometry
  };
  const DeviceLimits& limits(uint32_t device);
  uint32_t make_site(const std::string& mangled, const Kernel& kernel, const Geometry& geometry,
                     uint32_t device);

  std::function<DeviceLimits(uint32_t)> limits_of_;
  std::map<uint32_t, DeviceLimits> limits_;
  std::unordered_map<std::string, Kernel, Hash, std::equal_to<>> kernels_;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_NAMES_H_

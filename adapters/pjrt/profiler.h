// A plugin's own profiler: the device's executions, and the HLO instructions to which they belong.
//
// The profiler is the plugin's extension of PJRT; its record is an XSpace
// (tsl/profiler/protobuf/xplane.proto, whose field numbers are used here). On a GPU it is a client
// of CUPTI, of which a process has only one: so it cannot be used in runs in which xsp's collector
// records kernels.
#ifndef XSP_ADAPTERS_PJRT_PROFILER_H_
#define XSP_ADAPTERS_PJRT_PROFILER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapters/pjrt/plugin.h"

namespace xsp::pjrt {

// Describes an execution on a device.
struct DeviceEvent {
  std::string name;    // name of the kernel or copy
  std::string hlo_op;  // its instruction; "" if not reported
  std::string line;    // "Stream #13(Compute)"
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
// Returns the events of the devices' planes, in the order of their begins. Times are UNIX time, or
// count from the profiler's start.
std::vector<DeviceEvent> read_space(std::span<const uint8_t> space);

// Represents one recording, from start to collect.
class Profiler {
 public:
  explicit Profiler(const Plugin& plugin) : plugin_(plugin) {}
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Errors are one line; "" means success.
  std::string start();
  std::string collect(std::vector<uint8_t>* space);

 private:
  const Plugin& plugin_;
  void* profiler_ = nullptr;
  bool is_on_ = false;
};

}  // namespace xsp::pjrt

#endif  // XSP_ADAPTERS_PJRT_PROFILER_H_

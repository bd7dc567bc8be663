// Whether this process may count, and whether the device's mode lets it: in one line, what stands
// in the way and what to do. Empty: nothing does.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_PERMISSION_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_PERMISSION_H_

#include <string>

#include "collectors/cupti/counting_api.h"

namespace xsp::cupti {

// The text of the driver's parameters as the kernel shows them; empty if it does not.
std::string read_driver_parameters();
// From that text: whether the driver reserves counters to administrators.
std::string forbidden(const std::string& driver_parameters, bool is_administrator);
// From CUPTI's answer about a device.
std::string unsupported(const CUpti_Profiler_DeviceSupported_Params& answer);
// Why a call of CUPTI refused to count.
std::string refusal(const CountingApi& api, CUptiResult result);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_PERMISSION_H_

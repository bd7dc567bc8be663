// Tells whether this process may count, and whether the device's mode allows it. The functions
// return one line with the obstacle and its remedy, or an empty string if there is none.
#ifndef XSP_COLLECTORS_CUPTI_COUNTING_PERMISSION_H_
#define XSP_COLLECTORS_CUPTI_COUNTING_PERMISSION_H_

#include <string>

#include "collectors/cupti/counting_api.h"

namespace xsp::cupti {

// Returns the driver's parameters as the kernel shows them; empty if it does not.
std::string read_driver_parameters();
// Tells from that text whether the driver reserves counters to administrators.
std::string forbidden(const std::string& driver_parameters, bool is_administrator);
// Explains CUPTI's answer about a device.
std::string unsupported(const CUpti_Profiler_DeviceSupported_Params& answer);
// Explains why a call of CUPTI refused to count.
std::string refusal(const CountingApi& api, CUptiResult result);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_COUNTING_PERMISSION_H_

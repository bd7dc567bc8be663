// Memory: measures how fast the device reads, copies and combines arrays, in its memory and in its
// L2 cache.
#ifndef XSP_COLLECTORS_CEILINGS_MEMORY_H_
#define XSP_COLLECTORS_CEILINGS_MEMORY_H_

#include <functional>
#include <string>

#include "collectors/ceilings/driver.h"

namespace xsp::ceilings {

using Found = std::function<void(const char* name, double value)>;

// Passes each bandwidth to `found`, in bytes per second, with its name in the table peak. Throws if
// the device cannot run the kernels, or if they read or wrote wrong data.
void measure_memory(const Device& device, const Found& found);

// Returns the PTX of its kernels, for tests.
std::string memory_ptx();

}  // namespace xsp::ceilings

#endif  // XSP_COLLECTORS_CEILINGS_MEMORY_H_

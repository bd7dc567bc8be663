// Memory: how fast the device reads, copies and combines arrays, in its memory and in its L2 cache.
#ifndef XSP_COLLECTORS_CEILINGS_MEMORY_H_
#define XSP_COLLECTORS_CEILINGS_MEMORY_H_

#include <functional>
#include <string>

#include "collectors/ceilings/driver.h"

namespace xsp::ceilings {

using Found = std::function<void(const char* name, double value)>;

// Tells `found` each bandwidth, in bytes per second, by its name in the table peak. Throws if the
// device cannot, or if what was read or written is wrong.
void measure_memory(const Device& device, const Found& found);

// For tests: the PTX of its kernels.
std::string memory_ptx();

}  // namespace xsp::ceilings

#endif  // XSP_COLLECTORS_CEILINGS_MEMORY_H_

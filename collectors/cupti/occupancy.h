// Computes how many blocks of a kernel a multiprocessor can hold at once, and which resource limits
// them.
//
// The rules are those of NVIDIA's occupancy calculator for compute capability 7.0 and newer:
// registers are allocated to a warp in units of 256, within one of four partitions; shared memory
// is allocated to a block in units of 128 bytes.
#ifndef XSP_COLLECTORS_CUPTI_OCCUPANCY_H_
#define XSP_COLLECTORS_CUPTI_OCCUPANCY_H_

#include <cstdint>

namespace xsp::cupti {

// Holds limits of one multiprocessor; 0 means not known.
struct DeviceLimits {
  uint32_t multiprocessors = 0;
  uint32_t threads = 0;
  uint32_t blocks = 0;
  uint32_t registers = 0;
  uint32_t shared_bytes = 0;
  uint32_t reserved_shared_bytes = 0;  // additional shared memory of every block
};

struct Geometry {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t registers = 0;  // per thread; 0 if neither these nor the static bytes are known
  uint32_t static_shared_bytes = 0;
  uint32_t dynamic_shared_bytes = 0;
  // Shared memory of a multiprocessor, as the driver divided it from the cache; 0 if it is not
  // known.
  uint32_t shared_bytes = 0;
};

struct Occupancy {
  uint32_t blocks = 0;         // at once on a multiprocessor; 0 if it is not known
  const char* limiter = "";    // registers, shared_memory, warps or blocks
  double theoretical_pct = 0;  // active warps as a share of those that the device can hold
  double waves = 0;            // blocks of the grid divided by those that the device holds at once
};

Occupancy occupancy_of(const DeviceLimits& limits, const Geometry& geometry);

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_OCCUPANCY_H_

// Commands in OpenCL's queues: each becomes a span of the level api, the call that enqueued it, and
// one of the level kernel, what the device did, when its event says that it is complete. Both carry
// one correlation id. Devices and queues are numbered as they appear.
//
// A device's clock is its own. A command was enqueued while its call lasted, and had ended when its
// completion was told: that bounds the difference to the host's clock. The bounds of all commands
// together give it, to some microseconds; where they contradict each other, the clocks have
// drifted, and it is found anew.
//
// Thread rule: any thread. Nothing is allocated; beyond 8192 commands that are not complete,
// further ones are counted as lost.
#ifndef XSP_COLLECTORS_OPENCL_COMMANDS_H_
#define XSP_COLLECTORS_OPENCL_COMMANDS_H_

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <stddef.h>
#include <stdint.h>

namespace xsp::opencl {

// Records these levels from now on; 0: nothing.
void set_levels(uint32_t levels);
void start_commands(uint32_t levels);
// Waits, for a second at most, for what is not complete.
void stop_commands();
bool is_recorded();

// What the functions of the level below are; it lives as long as the process.
void set_target(const cl_icd_dispatch* target);
const cl_icd_dispatch* target();

// A call that put something into a queue, or none: `queue` is null.
struct Call {
  const char* name;  // "clEnqueueNDRangeKernel"
  int64_t start_ns;
  int64_t end_ns;
  cl_command_queue queue = nullptr;
  cl_event event = nullptr;    // of the command; a reference that is given away
  const char* work = nullptr;  // "memcpy HtoD"; null: a kernel
  const char* type = nullptr;  // "memcpy"
  cl_kernel kernel = nullptr;
  cl_uint dimensions = 0;
  const size_t* global_size = nullptr;
  const size_t* local_size = nullptr;  // null: the driver's choice
  int64_t bytes = -1;                  // -1: not known
};
void record(const Call& call);

}  // namespace xsp::opencl

#endif  // XSP_COLLECTORS_OPENCL_COMMANDS_H_

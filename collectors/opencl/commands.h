// Commands in OpenCL's queues. Each becomes a span of the level api, for the call that enqueued it,
// and a span of the level kernel, for its execution on the device, which is written when its event
// reports completion. Both carry one correlation id. Devices and queues are numbered in the order
// of their appearance.
//
// Each device has its own clock. A command was enqueued during its call, and had ended when its
// completion was reported: this bounds the difference to the host's clock. The bounds of all
// commands together give the difference to some microseconds. If they contradict each other, the
// clocks have drifted, and the difference is determined again.
//
// Thread rule: any thread. Nothing is allocated; beyond 8192 incomplete commands, further ones are
// counted as lost.
//
// Refused: a thread that waits for events, which holds them longer than the program does; and
// clGetDeviceAndHostTimer, which is newer than many drivers and optional in OpenCL 3.
#ifndef XSP_COLLECTORS_OPENCL_COMMANDS_H_
#define XSP_COLLECTORS_OPENCL_COMMANDS_H_

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <stddef.h>
#include <stdint.h>

namespace xsp::opencl {

// Records these levels from now on; 0 records nothing.
void set_levels(uint32_t levels);
void start_commands(uint32_t levels);
// Waits at most one second for incomplete commands.
void stop_commands();
bool is_recorded();

// Sets the functions of the level below; the table lives as long as the process.
void set_target(const cl_icd_dispatch* target);
const cl_icd_dispatch* target();

// Describes a call that put a command into a queue, or none if `queue` is null.
struct Call {
  const char* name;  // "clEnqueueNDRangeKernel"
  int64_t start_ns;
  int64_t end_ns;
  cl_command_queue queue = nullptr;
  cl_event event = nullptr;    // the command; the callee takes over the reference
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

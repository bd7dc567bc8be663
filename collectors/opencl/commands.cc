#include "collectors/opencl/commands.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <algorithm>

#include "xsp/plugin.h"

namespace xsp::opencl {
namespace {

constexpr size_t kPendingMax = 8192;
constexpr size_t kQueuesMax = 256;
constexpr size_t kDevicesMax = 64;
constexpr size_t kTextBytesMax = 64;
constexpr int kWaitMs = 1000;

// Describes a command that is not complete.
struct Pending {
  cl_event event;
  uint32_t site;
  uint32_t device;
  uint32_t queue;
  uint64_t correlation;
  int64_t call_start_ns;
  int64_t call_end_ns;
  int64_t bytes;
  uint32_t next;  // next free element
  char global_size[kTextBytesMax];
  char local_size[kTextBytesMax];
};

// Holds bounds of the difference between the host's clock and a device's.
struct Offset {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

struct Queue {
  cl_command_queue handle;
  uint32_t device;
};

struct Keys {
  uint32_t bytes, global_size, local_size;
};

constexpr uint32_t kNone = UINT32_MAX;

struct State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const cl_icd_dispatch* target = nullptr;
  uint32_t levels = 0;
  uint64_t correlation = 0;
  uint32_t pending_count = 0;
  uint32_t free = kNone;
  uint32_t used = 0;  // elements of `pending` used so far
  Queue queues[kQueuesMax] = {};
  size_t queue_count = 0;
  cl_device_id devices[kDevicesMax] = {};
  Offset offsets[kDevicesMax];
  size_t device_count = 0;
  Keys keys = {};
};
State state;
Pending pending[kPendingMax];

class Lock {
 public:
  Lock() { pthread_mutex_lock(&state.mutex); }
  ~Lock() { pthread_mutex_unlock(&state.mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

// Recording must not change the errno that the program sees.
class KeepErrno {
 public:
  KeepErrno() : errno_(errno) {}
  ~KeepErrno() { errno = errno_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int errno_;
};

uint32_t levels() { return __atomic_load_n(&state.levels, __ATOMIC_RELAXED); }
bool has(uint32_t level) { return (levels() & XSP_LEVEL_BIT(level)) != 0; }

// The caller holds the lock. Returns kNone if there are too many devices.
uint32_t number_of(cl_device_id device) {
  for (size_t i = 0; i < state.device_count; ++i) {
    if (state.devices[i] == device) return static_cast<uint32_t>(i);
  }
  if (state.device_count == kDevicesMax) return kNone;
  state.devices[state.device_count] = device;
  return static_cast<uint32_t>(state.device_count++);
}

// A released queue may have left its handle to a new queue of another device.
uint32_t number_of(cl_command_queue queue, uint32_t device) {
  for (size_t i = 0; i < state.queue_count; ++i) {
    if (state.queues[i].handle == queue && state.queues[i].device == device) {
      return static_cast<uint32_t>(i);
    }
  }
  if (state.queue_count == kQueuesMax) return kNone;
  state.queues[state.queue_count] = {queue, device};
  return static_cast<uint32_t>(state.queue_count++);
}

Pending* take() {
  if (state.free != kNone) {
    Pending* one = &pending[state.free];
    state.free = one->next;
    ++state.pending_count;
    return one;
  }
  if (state.used == kPendingMax) return nullptr;
  ++state.pending_count;
  return &pending[state.used++];
}

void give_back(Pending* one) {
  const Lock lock;
  one->next = state.free;
  state.free = static_cast<uint32_t>(one - pending);
  --state.pending_count;
}

// Writes sizes as text, "[1024,1,1]".
void write_sizes(char* text, cl_uint dimensions, const size_t* sizes) {
  text[0] = '\0';
  if (sizes == nullptr || dimensions == 0) return;
  int used = snprintf(text, kTextBytesMax, "[%zu", sizes[0]);
  for (cl_uint d = 1; d < std::min(dimensions, 3u); ++d) {
    used += snprintf(text + used, kTextBytesMax - static_cast<size_t>(used), ",%zu", sizes[d]);
  }
  snprintf(text + used, kTextBytesMax - static_cast<size_t>(used), "]");
}

uint32_t site_of(const Call& call) {
  if (call.kernel == nullptr) return xsp_intern_site(XSP_LEVEL_KERNEL, call.work, call.type);
  char name[256] = "kernel";
  (void)state.target->clGetKernelInfo(call.kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name,
                                      nullptr);
  return xsp_intern_site(XSP_LEVEL_KERNEL, name, "kernel");
}

// Returns the offset from the device's clock to the host's, by all that is known of the device's
// clock.
int64_t offset_of(const Pending& one, int64_t queued_ns, int64_t end_ns) {
  const int64_t now_ns = xsp_now_ns();
  const Lock lock;
  Offset& offset = state.offsets[one.device];
  const int64_t low = one.call_start_ns - queued_ns;
  const int64_t high = std::min(one.call_end_ns - queued_ns, now_ns - end_ns);
  if (low > offset.high || high < offset.low) {
    offset = {low, high};
  } else {
    offset = {std::max(offset.low, low), std::min(offset.high, high)};
  }
  return offset.low + (offset.high - offset.low) / 2;
}

bool read_time(cl_event event, cl_profiling_info what, int64_t* time_ns) {
  cl_ulong value = 0;
  const bool is_read = state.target->clGetEventProfilingInfo(event, what, sizeof value, &value,
                                                             nullptr) == CL_SUCCESS;
  *time_ns = static_cast<int64_t>(value);
  return is_read;
}

void emit(const Pending& one) {
  int64_t queued = 0, start = 0, end = 0;
  if (!read_time(one.event, CL_PROFILING_COMMAND_QUEUED, &queued) ||
      !read_time(one.event, CL_PROFILING_COMMAND_START, &start) ||
      !read_time(one.event, CL_PROFILING_COMMAND_END, &end)) {
    xsp_count_loss("opencl", "command of a queue without profiling", 1);
    return;
  }
  xsp_value values[3] = {};
  size_t count = 0;
  const auto add_text = [&](uint32_t key, const char* text) {
    if (*text == '\0') return;
    values[count].key = key;
    values[count].kind = XSP_VALUE_TEXT;
    values[count++].value.as_text = text;
  };
  add_text(state.keys.global_size, one.global_size);
  add_text(state.keys.local_size, one.local_size);
  if (one.bytes >= 0) {
    values[count].key = state.keys.bytes;
    values[count].kind = XSP_VALUE_COUNTER;
    values[count++].value.as_double = static_cast<double>(one.bytes);
  }
  xsp_complete_span span = {};
  span.struct_size = sizeof span;
  span.site_id = one.site;
  span.start_ns = start + offset_of(one, queued, end);
  span.duration_ns = end - start;
  span.correlation_id = one.correlation;
  span.values = values;
  span.value_count = count;
  span.device = one.device + 1;
  span.stream = one.queue + 1;
  xsp_emit(&span);
}

// The driver calls this, on a thread of its own or within any call.
void CL_CALLBACK on_complete(cl_event event, cl_int status, void* user) {
  const KeepErrno keep_errno;
  auto* one = static_cast<Pending*>(user);
  if (status == CL_COMPLETE) {
    emit(*one);
  } else {
    xsp_count_loss("opencl", "command that failed", 1);
  }
  (void)state.target->clReleaseEvent(event);
  give_back(one);
}

void emit_call(const Call& call, uint64_t correlation) {
  xsp_complete_span span = {};
  span.struct_size = sizeof span;
  span.site_id = xsp_intern_site(XSP_LEVEL_API, call.name, "opencl");
  span.start_ns = call.start_ns;
  span.duration_ns = call.end_ns - call.start_ns;
  span.correlation_id = correlation;
  xsp_emit(&span);
}

// Keeps the command's record until it is complete. Returns null if the command is lost.
Pending* keep(const Call& call, uint64_t correlation) {
  cl_device_id device = nullptr;
  (void)state.target->clGetCommandQueueInfo(call.queue, CL_QUEUE_DEVICE, sizeof device,
                                            static_cast<void*>(&device), nullptr);
  const uint32_t site = site_of(call);
  Pending* one = nullptr;
  {
    const Lock lock;
    const uint32_t number = number_of(device);
    const uint32_t queue = number == kNone ? kNone : number_of(call.queue, number);
    one = queue == kNone ? nullptr : take();
    if (one == nullptr) return nullptr;
    one->device = number;
    one->queue = queue;
  }
  one->event = call.event;
  one->site = site;
  one->correlation = correlation;
  one->call_start_ns = call.start_ns;
  one->call_end_ns = call.end_ns;
  one->bytes = call.bytes;
  write_sizes(one->global_size, call.dimensions, call.global_size);
  write_sizes(one->local_size, call.dimensions, call.local_size);
  return one;
}

}  // namespace

void set_levels(uint32_t levels) { __atomic_store_n(&state.levels, levels, __ATOMIC_RELEASE); }

void start_commands(uint32_t levels) {
  state.keys = {xsp_intern_key("bytes"), xsp_intern_key("global_size"),
                xsp_intern_key("local_size")};
  set_levels(levels);
}

void stop_commands() {
  set_levels(0);
  constexpr int kStepMs = 5;
  for (int waited = 0; waited < kWaitMs; waited += kStepMs) {
    if (__atomic_load_n(&state.pending_count, __ATOMIC_ACQUIRE) == 0) return;
    const timespec step = {0, kStepMs * 1000 * 1000};
    nanosleep(&step, nullptr);
  }
  xsp_count_loss("opencl", "command that was not complete at the end",
                 __atomic_load_n(&state.pending_count, __ATOMIC_ACQUIRE));
}

bool is_recorded() { return levels() != 0; }

void set_target(const cl_icd_dispatch* target) { state.target = target; }
const cl_icd_dispatch* target() { return state.target; }

void record(const Call& call) {
  const KeepErrno keep_errno;
  const uint64_t correlation =
      call.event == nullptr ? 0 : __atomic_add_fetch(&state.correlation, 1, __ATOMIC_RELAXED);
  if (has(XSP_LEVEL_API)) emit_call(call, correlation);
  if (call.event == nullptr) return;
  Pending* one = has(XSP_LEVEL_KERNEL) ? keep(call, correlation) : nullptr;
  if (one == nullptr) {
    if (has(XSP_LEVEL_KERNEL)) xsp_count_loss("opencl", "too many commands in the queues", 1);
    (void)state.target->clReleaseEvent(call.event);
    return;
  }
  if (state.target->clSetEventCallback(call.event, CL_COMPLETE, on_complete, one) == CL_SUCCESS) {
    return;
  }
  xsp_count_loss("opencl", "event without callback", 1);
  (void)state.target->clReleaseEvent(call.event);
  give_back(one);
}

}  // namespace xsp::opencl

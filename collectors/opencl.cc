// The collector opencl: records calls of OpenCL and the commands that devices execute, as spans of
// the levels api and kernel. It is a layer of the OpenCL loader (ocl-icd from 2.3 on, Khronos' from
// 3.0.2). The loader loads the layers that $OPENCL_LAYERS names into any program that uses OpenCL,
// and passes them the functions of the level below (CL/cl_layer.h). `xsp run` adds the collector to
// this variable; when the loader loads it, it asks the recording to start it. A program that never
// uses OpenCL loads nothing.
//
//   layer      the functions that are watched                                          wrap.h
//   commands   the commands in queues, until their events report completion            commands.h
//
// Queues are created with CL_QUEUE_PROFILING_ENABLE, because only then devices record times.
//
// In a worker of `xsp profile` the collector adds itself to the variable before the model is
// opened, as no part has used OpenCL by then. So an adapter's probe must not ask for devices: it
// says how the framework was built. Refused: defining the functions in a preloaded library, which
// misses programs that look them up in the loader, as OpenCV does; and a stand-in for the loader,
// which would have to follow each of its versions. A run whose spans have a device, and that never
// used CUDA, is a run on `opencl:N`.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/opencl/commands.h"
#include "collectors/opencl/layer.h"
#include "xsp/plugin.h"

namespace xsp::opencl {
namespace {

constexpr const char* kVariable = "OPENCL_LAYERS";
constexpr size_t kPathsBytesMax = 8192;
constexpr const char* kLoader = "libOpenCL.so.1";

// Returns true if `path` is an element of a list that ':' separates.
bool contains(const char* list, const char* path) {
  const size_t size = strlen(path);
  for (const char* at = list; at != nullptr; at = strchr(at, ':')) {
    if (*at == ':') ++at;
    if (strncmp(at, path, size) == 0 && (at[size] == '\0' || at[size] == ':')) return true;
  }
  return false;
}

// Adds this file to the loader's layers, in front of the others, so that they see the program's own
// arguments.
bool enter_environment() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&enter_environment), &info) == 0) return false;
  const char* before = getenv(kVariable);
  if (before == nullptr || *before == '\0') return setenv(kVariable, info.dli_fname, 1) == 0;
  if (contains(before, info.dli_fname)) return true;
  char paths[kPathsBytesMax];
  const size_t size = strlen(info.dli_fname) + 1 + strlen(before) + 1;
  if (size > sizeof paths) return false;
  strcpy(paths, info.dli_fname);
  strcat(paths, ":");
  strcat(paths, before);
  return setenv(kVariable, paths, 1) == 0;
}

xsp_status fail(const xsp_host* host, const char* text) {
  host->fail(host->context, text);
  return XSP_NOT_AVAILABLE;
}

xsp_status probe(const xsp_host* host, xsp_collector_probe* probe) {
  probe->counters = "";
  probe->absent = nullptr;
  if (!enter_environment())
    return fail(host, "OpenCL: OPENCL_LAYERS cannot be set: make it shorter");
  void* loader = dlopen(kLoader, RTLD_LAZY | RTLD_LOCAL);
  if (loader == nullptr) {
    return fail(host, "OpenCL: no loader (libOpenCL.so.1): install ocl-icd-libopencl1");
  }
  const auto platforms = reinterpret_cast<cl_int (*)(cl_uint, cl_platform_id*, cl_uint*)>(
      dlsym(loader, "clGetPlatformIDs"));
  cl_uint count = 0;
  if (platforms == nullptr || platforms(0, nullptr, &count) != CL_SUCCESS || count == 0) {
    return fail(host,
                "OpenCL: no driver of a device: install the device's, or pocl-opencl-icd for the "
                "CPU");
  }
  if (is_in_place()) return XSP_OK;
  return fail(host, "OpenCL: its loader takes no layers: install ocl-icd-libopencl1 2.3 or newer");
}

xsp_status start(const xsp_host*, const xsp_collect_options* options) {
  start_commands(options->levels);
  return XSP_OK;
}

void begin() {}
void end(xsp_span*) {}
xsp_status stop() {
  stop_commands();
  return XSP_OK;
}

constexpr xsp_collector make_entry() {
  xsp_collector entry{};
  entry.struct_size = sizeof entry;
  entry.abi = XSP_PLUGIN_ABI;
  entry.name = "opencl";
  entry.help = "needs an OpenCL driver: the device's, or `apt-get install pocl-opencl-icd`";
  entry.levels = XSP_LEVEL_BIT(XSP_LEVEL_API) | XSP_LEVEL_BIT(XSP_LEVEL_KERNEL);
  entry.probe = probe;
  entry.start = start;
  entry.begin = begin;
  entry.end = end;
  entry.stop = stop;
  entry.device = "opencl";
  entry.set_levels = set_levels;
  return entry;
}

}  // namespace
}  // namespace xsp::opencl

extern "C" {
XSP_API extern const xsp_collector xsp_collector_entry;
const xsp_collector xsp_collector_entry = xsp::opencl::make_entry();
}

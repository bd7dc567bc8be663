// A fake CUDA driver with one device, which has only attributes: calls that need the device itself
// fail. With FAKE_GPU_NONE set there is no device.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kInvalidDevice = 101;
constexpr int kInvalidPtx = 218;
constexpr int kNotSupported = 801;

bool has_device() { return std::getenv("FAKE_GPU_NONE") == nullptr; }

}  // namespace

FAKE_API int cuInit(unsigned) { return has_device() ? 0 : 100; }
FAKE_API int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
FAKE_API int cuDeviceGetCount(int* count) {
  *count = has_device() ? 1 : 0;
  return 0;
}
FAKE_API int cuGetErrorName(int status, const char** name) {
  *name = status == kInvalidPtx ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_OTHER";
  return 0;
}
FAKE_API int cuDeviceGet(int* device, int number) {
  *device = number;
  return number == 0 && has_device() ? 0 : kInvalidDevice;
}
FAKE_API int cuDeviceGetAttribute(int* value, int attribute, int) {
  // Values of the driver's CUdevice_attribute: clock, multiprocessors, the memory's clock and
  // width, L2, and compute capability 8.0.
  const int known[][2] = {{13, 1'000'000}, {16, 10}, {36, 1'000'000}, {37, 1024},
                          {38, 1 << 22},   {75, 8},  {76, 0}};
  for (const auto& [number, is] : known) {
    if (number != attribute) continue;
    *value = is;
    return 0;
  }
  return kNotSupported;
}
FAKE_API int cuDeviceGetName(char* text, int size, int) {
  std::strncpy(text, "Fake GPU", static_cast<size_t>(size));
  return 0;
}
FAKE_API int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{80} << 30;
  return 0;
}
FAKE_API int cuDeviceGetPCIBusId(char* text, int size, int) {
  std::strncpy(text, "0000:01:00.0", static_cast<size_t>(size));
  return 0;
}
FAKE_API int cuDevicePrimaryCtxRetain(void** context, int) {
  static int the_context;
  *context = &the_context;
  return 0;
}
FAKE_API int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
FAKE_API int cuCtxSetCurrent(void*) { return 0; }
FAKE_API int cuModuleLoadDataEx(void**, const void*, unsigned, int*, void**) { return kInvalidPtx; }

#define FAKE_REFUSED(name) \
  FAKE_API int name() { return kNotSupported; }
FAKE_REFUSED(cuModuleUnload)
FAKE_REFUSED(cuModuleGetFunction)
FAKE_REFUSED(cuFuncSetAttribute)
FAKE_REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAKE_REFUSED(cuLaunchKernel)
FAKE_REFUSED(cuMemGetInfo_v2)
FAKE_REFUSED(cuMemAlloc_v2)
FAKE_REFUSED(cuMemFree_v2)
FAKE_REFUSED(cuMemcpyDtoH_v2)
FAKE_REFUSED(cuMemcpyHtoD_v2)
FAKE_REFUSED(cuMemsetD8_v2)
FAKE_REFUSED(cuEventCreate)
FAKE_REFUSED(cuEventDestroy_v2)
FAKE_REFUSED(cuEventRecord)
FAKE_REFUSED(cuEventSynchronize)
FAKE_REFUSED(cuEventElapsedTime)

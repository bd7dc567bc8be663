// Uses an OpenCL device: opencl_program [N]. Runs twice as many kernels as N, on two queues, with a
// write before and a read after them. Exits with 77 if there is no device, 1 if a result is wrong.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr const char* kSource =
    "__kernel void twice(__global float* x, int rounds) {\n"
    "  size_t i = get_global_id(0);\n"
    "  for (int r = 0; r < rounds; ++r) x[i] = x[i] * 2.0f * 0.5f;\n"
    "  x[i] = x[i] * 2.0f;\n"
    "}\n";
constexpr size_t kCount = 4096;
constexpr cl_int kRounds = 200;

void check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, status);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 3;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    return 77;
  }
  cl_int status = 0;
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  cl_command_queue queues[2] = {};
  for (cl_command_queue& queue : queues) {
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
  }
  const char* source = kSource;
  const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  const cl_kernel kernel = clCreateKernel(program, "twice", &status);
  check(status, "clCreateKernel");
  std::vector<float> values(kCount, 1);
  const size_t bytes = kCount * sizeof(float);
  const cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
  check(status, "clCreateBuffer");
  check(clSetKernelArg(kernel, 0, sizeof memory, &memory), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof kRounds, &kRounds), "clSetKernelArg");
  check(clEnqueueWriteBuffer(queues[0], memory, CL_TRUE, 0, bytes, values.data(), 0, nullptr,
                             nullptr),
        "clEnqueueWriteBuffer");
  const size_t local = 64;
  for (int i = 0; i < repeats; ++i) {
    for (const cl_command_queue queue : queues) {
      cl_event done = nullptr;
      check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kCount, &local, 0, nullptr,
                                   queue == queues[0] ? nullptr : &done),
            "clEnqueueNDRangeKernel");
      check(clFinish(queue), "clFinish");
      if (done != nullptr) check(clReleaseEvent(done), "clReleaseEvent");
    }
  }
  check(
      clEnqueueReadBuffer(queues[1], memory, CL_TRUE, 0, bytes, values.data(), 0, nullptr, nullptr),
      "clEnqueueReadBuffer");
  float expected = 1;
  for (int i = 0; i < 2 * repeats; ++i) expected *= 2;
  for (const float value : values) {
    if (value != expected) return 1;
  }
  clReleaseMemObject(memory);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  for (const cl_command_queue queue : queues) clReleaseCommandQueue(queue);
  clReleaseContext(context);
  std::printf("ok\n");
  return 0;
}

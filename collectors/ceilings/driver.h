// Driver: the functions of the CUDA driver that measure ceilings. They come from libcuda.so.1,
// which is loaded at run time. The interface is the driver's C ABI; this file declares the part of
// it that is used.
//
// A call that fails throws std::runtime_error with one line; the plugin's entry points catch it
// (guarded()).
#ifndef XSP_COLLECTORS_CEILINGS_DRIVER_H_
#define XSP_COLLECTORS_CEILINGS_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xsp::ceilings {

// Lists values of the driver's CUdevice_attribute.
enum class Attribute : int {
  kClockKhz = 13,
  kMultiprocessors = 16,
  kMemoryClockKhz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kMajor = 75,
  kMinor = 76,
};

struct Driver {
  using Handle = void*;                // CUcontext, CUmodule, CUfunction, CUevent, CUstream
  using Pointer = unsigned long long;  // CUdeviceptr

  // Returns the driver of this process. Throws if there is none, or if it has no such device.
  static const Driver& get();

  int (*init)(unsigned);
  int (*error_name)(int, const char**);
  int (*device_get)(int*, int);
  int (*device_attribute)(int*, int attribute, int device);
  int (*device_name)(char*, int size, int device);
  int (*device_memory)(size_t*, int device);
  int (*context_retain)(Handle*, int device);
  int (*context_release)(int device);
  int (*context_set)(Handle);
  int (*module_load)(Handle*, const void* image, unsigned count, int* options, void** values);
  int (*module_unload)(Handle);
  int (*module_function)(Handle*, Handle module, const char* name);
  int (*function_attribute_set)(Handle, int attribute, int value);
  int (*occupancy)(int* blocks, Handle function, int threads, size_t shared_bytes);
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned shared_bytes, Handle stream, void** parameters, void** extra);
  int (*memory_info)(size_t* free_bytes, size_t* total_bytes);
  int (*memory_allocate)(Pointer*, size_t);
  int (*memory_free)(Pointer);
  int (*copy_to_host)(void*, Pointer, size_t);
  int (*copy_to_device)(Pointer, const void*, size_t);
  int (*memory_set)(Pointer, unsigned char, size_t);
  int (*event_create)(Handle*, unsigned flags);
  int (*event_destroy)(Handle);
  int (*event_record)(Handle, Handle stream);
  int (*event_synchronize)(Handle);
  int (*event_elapsed_ms)(float*, Handle, Handle);

  // Throws unless `status` is 0. `what` names the failed action in the message.
  void check(int status, const char* what) const;
};

// Represents a CUDA device that exists.
class Device {
 public:
  // `name` looks like "cuda:1".
  explicit Device(const std::string& name);
  int number() const { return number_; }
  int attribute(Attribute which) const;
  std::string name() const;
  uint64_t memory_bytes() const;

 private:
  const Driver& driver_;
  int number_ = 0;
};

// Makes the device's primary context current on this thread.
class Context {
 public:
  explicit Context(const Device& device);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  const Driver& driver_;
  int device_;
};

class Buffer {
 public:
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Driver::Pointer address() const { return address_; }
  size_t bytes() const { return bytes_; }
  void write(const std::vector<uint8_t>& data);
  std::vector<uint8_t> read(size_t bytes) const;
  void clear();

 private:
  const Driver& driver_;
  Driver::Pointer address_ = 0;
  size_t bytes_;
};

// Represents a module that the driver compiled from PTX.
class Module {
 public:
  explicit Module(const std::string& ptx);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  Driver::Handle function(const char* name) const;

 private:
  const Driver& driver_;
  Driver::Handle module_ = nullptr;
};

// Measures the device's time between two points of its default stream.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void start();
  double stop();  // waits for the device; returns seconds

 private:
  const Driver& driver_;
  Driver::Handle begin_ = nullptr;
  Driver::Handle end_ = nullptr;
};

}  // namespace xsp::ceilings

#endif  // XSP_COLLECTORS_CEILINGS_DRIVER_H_

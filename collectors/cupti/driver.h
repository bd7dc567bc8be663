// The part of the CUDA driver that is used here: the devices and their limits. The driver is loaded
// at run time, never linked.
#ifndef XSP_COLLECTORS_CUPTI_DRIVER_H_
#define XSP_COLLECTORS_CUPTI_DRIVER_H_

#include <cuda.h>

#include <memory>
#include <string>

#include "collectors/cupti/occupancy.h"

namespace xsp::cupti {

class Driver {
 public:
  // Loads and initialises the driver. Returns null and a line in *why if there is no driver or no
  // device.
  static std::unique_ptr<Driver> open(std::string* why);
  // Loads the driver without initialising it: it must not be called while the program initialises
  // it.
  static std::unique_ptr<Driver> load(std::string* why);
  // Returns false and a line in *why if there is no device, or the driver fails.
  bool initialize(std::string* why);

  int device_count() const { return device_count_; }
  // Returns the limits of a multiprocessor of the device; zeros if they cannot be read.
  DeviceLimits limits(uint32_t device) const;

 private:
  int device_count_ = 0;
  decltype(&::cuInit) init_ = nullptr;
  decltype(&::cuDeviceGetCount) count_ = nullptr;
  decltype(&::cuDeviceGet) get_ = nullptr;
  decltype(&::cuDeviceGetAttribute) attribute_ = nullptr;
};

}  // namespace xsp::cupti

#endif  // XSP_COLLECTORS_CUPTI_DRIVER_H_

// Runner: runs one kernel on the whole device.
#ifndef XSP_COLLECTORS_CEILINGS_RUNNER_H_
#define XSP_COLLECTORS_CEILINGS_RUNNER_H_

#include <optional>

#include "collectors/ceilings/driver.h"
#include "collectors/ceilings/kernels.h"

namespace xsp::ceilings {

class Runner {
 public:
  // Compiles the kernel in the current context. Throws if the driver cannot compile it.
  Runner(const Device& device, const Kernel& kernel);
  // Throws unless the kernel computes the expected results.
  void check();
  // Returns operations per second, the best of several trials.
  double rate();

 private:
  double time(uint32_t rounds);  // returns seconds

  const Driver& driver_;
  const Kernel& kernel_;
  Module module_;
  Driver::Handle function_;
  Buffer operands_;
  std::optional<Buffer> result_;
  Stopwatch watch_;
  unsigned blocks_ = 1;
};

}  // namespace xsp::ceilings

#endif  // XSP_COLLECTORS_CEILINGS_RUNNER_H_

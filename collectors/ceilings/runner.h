// Runner: runs one kernel on the whole device.
#ifndef XSP_COLLECTORS_CEILINGS_RUNNER_H_
#define XSP_COLLECTORS_CEILINGS_RUNNER_H_

#include <optional>

#include "collectors/ceilings/driver.h"
#include "collectors/ceilings/kernels.h"

namespace xsp::ceilings {

class Runner {
 public:
  // In the context that is current. Throws if the driver cannot compile the kernel.
  Runner(const Device& device, const Kernel& kernel);
  // Throws unless the kernel does what it is said to do.
  void check();
  // Operations per second: the best of several trials.
  double rate();

 private:
  double time(uint32_t rounds);  // seconds

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

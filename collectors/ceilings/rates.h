// Rates: the operations that one multiprocessor completes per clock, by compute capability.
// Together with the device's clock and its number of multiprocessors they give its ceilings by
// attributes.
#ifndef XSP_COLLECTORS_CEILINGS_RATES_H_
#define XSP_COLLECTORS_CEILINGS_RATES_H_

#include <string>
#include <utility>
#include <vector>

namespace xsp::ceilings {

// Holds operations of one multiprocessor per clock; a multiply-add counts as 2. 0 means none or
// unknown.
struct Rates {
  int capability;  // 90 means compute capability 9.0
  int fp64, fp32, fp16;
  int fp64_tensor, tf32_tensor, fp16_tensor, bf16_tensor, fp8_tensor, int8_tensor;
};

// Returns nullptr if the table lacks this compute capability.
const Rates* rates_of(int capability);
// Returns the rates by their names in the table peak, {"fp32_flops_per_s", 256}, ..., without those
// that are 0.
std::vector<std::pair<std::string, int>> named(const Rates& rates);

}  // namespace xsp::ceilings

#endif  // XSP_COLLECTORS_CEILINGS_RATES_H_

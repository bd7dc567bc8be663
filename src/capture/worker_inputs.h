// A model's inputs, made from its own signature and what the user said.
//
// Shapes. A dynamic dimension that stands for the batch (its symbol says so, or it is the first
// one) takes the batch size. Any other takes what --input binds its symbol to, else a default by
// what the symbol or the position suggests (a sequence 128, an image 224 x 224 x 3, else 1), which
// is noted. A symbol has one value in all inputs; "a + b" is the sum of its terms.
//
// Values depend on the seed and the input's name alone. Floating point: uniform in (-1, -2^-10] and
// [2^-10, 1), so that there is no zero and no denormal in any type. Masks: 1. Position ids: 0, 1,
// 2, ... along the last dimension. Segment ids: 0. Bytes: 0 to 255. Other integers, such as token
// ids: 0 to 99.
#ifndef XSP_CAPTURE_WORKER_INPUTS_H_
#define XSP_CAPTURE_WORKER_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/worker_options.h"

namespace xsp::capture {

struct TensorSpec {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;   // -1: dynamic
  std::vector<std::string> symbols;  // as many; empty: no name
};

struct Tensor {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;
  std::vector<std::byte> data;
};

struct Inputs {
  std::vector<Tensor> tensors;  // in the model's order
  int64_t batch = 1;            // in effect
  std::vector<std::string> notes;
};

// Errors are about what the user asked for (a name, a shape, a type, a file) and hint at the
// model's own signature.
Result<Inputs> make_inputs(const std::vector<TensorSpec>& specs, const WorkerOptions& options);

// "x float32[batch,3,224,224], ids int64[1,?]"
std::string signature_text(const std::vector<TensorSpec>& specs);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_WORKER_INPUTS_H_

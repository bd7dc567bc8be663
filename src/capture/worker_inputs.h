// A model's inputs, made from its own signature and what the user said.
//
// Shapes. A dynamic dimension that stands for the batch (its symbol says so, or it is the first
// one) takes the batch size. Any other takes what --input binds its symbol to, else a default by
// what the symbol or the position suggests (a sequence 128, an image 224 x 224 x 3, else 1), which
// is noted. A symbol has one value in all inputs; "a + b" is the sum of its terms.
//
// The batch. It is known where it was said (--batch), and where the model itself sets a dynamic
// dimension apart that stands for it: by its symbol, or as the first one beside fixed ones; also
// where such a dimension took its default, 1. A first dimension that is fixed, or one of an input
// whose dimensions are all dynamic, need not be one: that of a 256 x 256 matrix is none. It is
// taken for the batch only if all inputs that have dimensions begin with the same one, and that is
// 1, or an input is a batch of images or volumes (4 dimensions or more) and all outputs whose first
// dimension is known begin with it, too. Otherwise the batch is not known.
//
// Values that nobody gave depend on the seed and the input's name alone. Floating point: uniform in
// (-1, -2^-10] and [2^-10, 1), so that there is no zero and no denormal in any type. Masks: 1.
// Position ids: 0, 1, 2, ... along the last dimension. Segment ids: 0. Bytes: 0 to 255. Other
// integers, such as token ids: 0 to 99. An integer that stands alone may steer loops and shapes:
// that it is made up is noted.
#ifndef XSP_CAPTURE_WORKER_INPUTS_H_
#define XSP_CAPTURE_WORKER_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/worker_options.h"

namespace xsp::capture {

struct TensorSpec {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;   // -1: dynamic
  std::vector<std::string> symbols;  // as many; empty, or "?": no name, its own unknown
};

struct Tensor {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;
  std::vector<std::byte> data;
  std::string values;  // how they came about, for people
};

struct Inputs {
  std::vector<Tensor> tensors;   // in the model's order
  std::optional<int64_t> batch;  // nothing: not known, for the reason
  std::string batch_unknown;
  std::vector<std::string> notes;
};

// Errors are about what the user asked for (a name, a shape, a type, a file) and hint at the
// model's own signature.
Result<Inputs> make_inputs(const std::vector<TensorSpec>& specs,
                           const std::vector<TensorSpec>& outputs, const WorkerOptions& options);

// "x float32[batch,3,224,224], ids int64[1,?]"
std::string signature_text(const std::vector<TensorSpec>& specs);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_WORKER_INPUTS_H_

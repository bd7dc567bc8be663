// Makes a model's inputs from its own signature and the user's options.
//
// Shapes. A dynamic dimension that stands for the batch (its symbol says so, or it is the first
// one) takes the batch size. Any other dimension takes the value that --input binds to its symbol,
// or else a default that its symbol or position suggests (a sequence 128, an image 224 x 224 x 3,
// else 1); the default is noted. A symbol has one value in all inputs; "a + b" is the sum of its
// terms.
//
// The batch. It is known if the user gave it (--batch), or if the model itself marks a dynamic
// dimension as the batch: by its symbol, or as the first dimension beside fixed ones, even if that
// dimension took its default, 1. A first dimension that is fixed, or one of an input whose
// dimensions are all dynamic, need not be the batch: the first dimension of a 256 x 256 matrix is
// none. It counts as the batch only if all inputs that have dimensions begin with the same one, and
// that is 1, or an input is a batch of images or volumes (4 dimensions or more) and all outputs
// whose first dimension is known begin with it, too. Otherwise the batch is not known.
//
// Values that the user did not give depend only on the seed and the input's name. Floating point:
// uniform in (-1, -2^-10] and [2^-10, 1), so that there is no zero and no denormal in any type.
// Masks: 1. Position ids: 0, 1, 2, ... along the last dimension. Segment ids: 0. Sample rates:
// 16000. Bytes: 0 to 255. Other integers, such as token ids: 0 to 99, or less if the model says
// that its integers must be. A single integer may control loops and shapes, so a note says that it
// is made up.
#ifndef XSP_PROCESS_WORKER_INPUTS_H_
#define XSP_PROCESS_WORKER_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "process/worker/options.h"
#include "shared/base/result.h"

namespace xsp::process {

struct TensorSpec {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;   // -1: dynamic
  std::vector<std::string> symbols;  // one per dimension; empty or "?": a separate unknown
  uint64_t below = 0;                // integers must be below this; 0: not known
};

struct Tensor {
  std::string name;
  uint32_t dtype = 0;
  std::vector<int64_t> dimensions;
  std::vector<std::byte> data;
  std::string values;     // origin of the values, for people
  bool is_given = false;  // its values are the user's own
};

struct Inputs {
  std::vector<Tensor> tensors;   // in the model's order
  std::optional<int64_t> batch;  // nothing: not known; batch_unknown says why
  std::string batch_unknown;
  std::vector<std::string> notes;
};

// Errors are about the user's options (a name, a shape, a type, a file) and hint at the model's own
// signature.
Result<Inputs> make_inputs(const std::vector<TensorSpec>& specs,
                           const std::vector<TensorSpec>& outputs, const WorkerOptions& options);

// Returns what to say of the inputs that were made up if the model refuses them, as one types them:
// " (made up: --input x=1x1 --input sr==16000)". Empty: none was.
std::string made_up_text(const std::vector<Tensor>& tensors);

// Replaces an input that was made up, and takes back what a note says of it.
void set_values(Tensor values, size_t index, Inputs* inputs);

// Return an adapter's tensors.
std::vector<TensorSpec> specs_of(const xsp_tensor_info* infos, size_t count);
std::vector<Tensor> tensors_of(const xsp_tensor* tensors, size_t count);
// Returns what an adapter reads; the tensors must outlive it.
std::vector<xsp_tensor> views_of(const std::vector<Tensor>& tensors);

// Returns a text such as "x float32[batch,3,224,224], ids int64[1,?]".
std::string signature_text(const std::vector<TensorSpec>& specs);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WORKER_INPUTS_H_

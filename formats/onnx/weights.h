// Seeded random weights: the same bits on every machine.
//
// A value depends only on the tensor's seed and the element's index. It is made from integer
// arithmetic, one conversion and one multiplication, so neither the order of writing nor the
// compiler's choice of instructions can change it. No value is zero or denormal.
#ifndef XSP_FORMATS_ONNX_WEIGHTS_H_
#define XSP_FORMATS_ONNX_WEIGHTS_H_

#include <cstdint>
#include <string_view>

namespace xsp::formats {

// Describes a uniform distribution over (middle - half_width, middle + half_width); half_width > 0,
// and middle is at most a few half widths.
struct Distribution {
  double middle = 0;
  double half_width = 1;
};

// Returns a uniform distribution of the given variance around 0.
Distribution with_variance(double variance);

// Returns the seed of a tensor, from the model's seed and the tensor's name.
uint64_t tensor_seed(uint64_t model_seed, std::string_view tensor_name);

// Writes elements [first, first + count) of a tensor to `out`; `first` is even.
void fill_weights(const Distribution& distribution, uint64_t seed, uint64_t first, size_t count,
                  float* out);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_WEIGHTS_H_

// The signature of a model's file: what tools/export_torch.py wrote into it, or the option
// `signature`. One line for each input, and for each output that is known:
//
//   input<TAB>NAME<TAB>float32<TAB>batch,3,224,224
//
// A word in the shape names a dimension that may vary. A tab may be written as any white space, and
// a new line as a semicolon; a scalar has no shape.
#ifndef XSP_ADAPTERS_TORCH_SIGNATURE_H_
#define XSP_ADAPTERS_TORCH_SIGNATURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "xsp/plugin.h"

namespace xsp::torch_adapter {

struct Port {
  std::string name;
  uint32_t dtype = 0;  // xsp_dtype
  std::vector<int64_t> dimensions;
  std::vector<std::string> symbols;  // "" where the dimension is fixed
};

struct Signature {
  std::vector<Port> inputs;
  std::vector<Port> outputs;  // empty: not known
};

// An empty text is good; else it is what is wrong.
std::string parse_signature(std::string_view text, Signature* signature);

// A Port as the adapter's caller reads it; valid as long as the Ports.
class Infos {
 public:
  void set(const std::vector<Port>& ports);
  const xsp_tensor_info* data() const { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  std::vector<std::vector<const char*>> symbols_;
  std::vector<xsp_tensor_info> infos_;
};

// Why a tensor is not one for this port; empty: it is.
std::string mismatch(const Port& port, const xsp_tensor& tensor);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_SIGNATURE_H_

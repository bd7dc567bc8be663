// The signature of a model's file: written by tools/export_torch.py, or given by the option
// `signature`. It has one line for each input, and for each output that is known:
//
//   input<TAB>NAME<TAB>float32<TAB>batch,3,224,224
//
// A word in the shape names a dimension that may vary. Any white space may replace a tab, and a
// semicolon may replace a new line; a scalar has no shape. A last word "<1000" says that an input's
// integers must be below 1000, as those that choose rows of a table are.
//
// The file describes its inputs in a line of text each, because TorchScript knows neither shapes
// nor types. Refused: JSON, for which the adapter would need a parser that no PyTorch ships.
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
  std::vector<std::string> symbols;  // "" for a fixed dimension
  uint64_t below = 0;                // integers must be below this; 0: not known
};

struct Signature {
  std::vector<Port> inputs;
  std::vector<Port> outputs;  // empty if not known
};

// Returns an empty text, or the error.
std::string parse_signature(std::string_view text, Signature* signature);

// Represents ports in the form of the adapter's caller; valid as long as the Ports.
class Infos {
 public:
  void set(const std::vector<Port>& ports);
  const xsp_tensor_info* data() const { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  std::vector<std::vector<const char*>> symbols_;
  std::vector<xsp_tensor_info> infos_;
};

// Returns why a tensor does not match this port; empty if it does.
std::string mismatch(const Port& port, const xsp_tensor& tensor);

}  // namespace xsp::torch_adapter

#endif  // XSP_ADAPTERS_TORCH_SIGNATURE_H_

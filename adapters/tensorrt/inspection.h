// Reads the description that TensorRT's IEngineInspector gives of an engine.
#ifndef XSP_ADAPTERS_TENSORRT_INSPECTION_H_
#define XSP_ADAPTERS_TENSORRT_INSPECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xsp::tensorrt {

struct Tensor {
  std::string name;
  std::string dtype;   // "float32"; empty: not known
  std::string format;  // as TensorRT has it: "Row major linear FP32"
  std::vector<int64_t> dimensions;
  bool is_constant = false;  // the builder put its values into the engine
};

struct Layer {
  std::string name;       // "conv1 + relu", "fc_myl57_1"
  std::string type;       // TensorRT's own: "CaskConvolution"
  std::string operation;  // what it computes: "Convolution"; empty: not known
  std::string tactic;     // the kernel that the builder chose; empty: not known
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  int64_t weight_bytes = 0;  // of weights and bias
  // The names of the model's layers that it stands for; none: not known.
  std::optional<std::vector<std::string>> sources;
};

// Reads the JSON text of a whole engine. An engine that was built without details has only names.
// Returns no layers if the text is malformed.
std::vector<Layer> read_inspection(std::string_view json);

// Returns the text of the ranges in which a layer runs. That is its name, without the number that
// the inspector and IProfiler add to parts of one larger layer: "fc_myl57_1" runs as "fc".
std::string_view range_of(std::string_view layer);

// Returns xsp's name of the type in a format: "Row major linear FP32" is float32.
std::string dtype_of_format(std::string_view format);

// Returns the ONNX nodes that a layer's metadata names: "[ONNX Layer: conv]\x1e[ONNX Layer: relu]".
std::vector<std::string> sources_of(std::string_view metadata);

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_INSPECTION_H_

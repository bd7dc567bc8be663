// Reads arbitrary bytes as TensorRT's description of an engine.
#include <cstdint>
#include <string_view>

#include "adapters/tensorrt/inspection.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const xsp::tensorrt::Layer& layer : xsp::tensorrt::read_inspection(text)) {
    require(layer.weight_bytes >= 0);
    require(xsp::tensorrt::range_of(layer.name).size() <= layer.name.size());
    require(layer.inputs.size() + layer.outputs.size() <= size);
    if (layer.sources) require(layer.sources->size() <= size);
  }
  for (const auto& source : xsp::tensorrt::sources_of(text)) require(source.size() <= size);
  require(text.starts_with(xsp::tensorrt::range_of(text)));
  return 0;
}

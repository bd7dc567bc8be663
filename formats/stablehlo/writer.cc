#include "formats/stablehlo/writer.h"

#include <vector>

#include "formats/onnx/shapes.h"
#include "formats/stablehlo/converter.h"

namespace xsp::formats {

Status write_stablehlo(const Graph& graph, const WeightSource& weights, const std::string& path,
                       const WriteOptions& options) {
  XSP_TRY(const KnownValues values, infer_shapes(graph, {{"batch", options.batch}}));
  stablehlo::Converter converter(graph, values);
  XSP_CHECK_OK(converter.convert());
  // The text of a weight is its bytes as hexadecimal digits, the first byte first.
  std::vector<uint8_t> bytes;
  const WeightSource digits = [&](size_t index, uint64_t offset, std::span<uint8_t> out) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    bytes.resize(out.size() / 2);
    weights(index, offset / 2, bytes);
    for (size_t i = 0; i < bytes.size(); ++i) {
      out[2 * i] = static_cast<uint8_t>(kDigits[bytes[i] >> 4]);
      out[2 * i + 1] = static_cast<uint8_t>(kDigits[bytes[i] & 15]);
    }
  };
  return write_pieces(converter.take(), digits, path, options);
}

}  // namespace xsp::formats

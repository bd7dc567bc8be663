// Text of ONNX Runtime, made fit for people, and JSON.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_TEXT_H_
#define XSP_ADAPTERS_ONNXRUNTIME_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xsp::ort {

// A message on one line, shortened, and without the source locations that the runtime puts into it.
std::string condensed(std::string_view message);

// "a string with \"quotes\"", with the quotes around it.
std::string json_string(std::string_view text);
std::string json_strings(const std::vector<std::string>& texts);
// [[1,3,224,224],[]]
std::string json_shapes(const std::vector<std::vector<int64_t>>& shapes);

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_TEXT_H_

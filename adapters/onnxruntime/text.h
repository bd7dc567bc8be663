// Makes messages of ONNX Runtime readable.
#ifndef XSP_ADAPTERS_ONNXRUNTIME_TEXT_H_
#define XSP_ADAPTERS_ONNXRUNTIME_TEXT_H_

#include <string>
#include <string_view>

namespace xsp::ort {

// Returns a message on one line, shortened, and without the source locations that the runtime adds.
std::string condensed(std::string_view message);

}  // namespace xsp::ort

#endif  // XSP_ADAPTERS_ONNXRUNTIME_TEXT_H_

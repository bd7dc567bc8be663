// Makes inner tensors of an ONNX model outputs, so that any runtime gives them.
#ifndef XSP_FORMATS_ONNX_EXPOSE_H_
#define XSP_FORMATS_ONNX_EXPOSE_H_

#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::formats {

// Writes a copy of the model whose outputs are its own and these tensors, which nodes of its graph
// make. Their types are not stated: a runtime infers them. Weights in other files stay there; the
// copy names them as the model does, relative to its own folder.
//
// The copy is the model with a second graph behind it, which has only outputs: a message that comes
// twice is the sum of both, by the rules of protocol buffers ("Last One Wins", Encoding).
Status write_exposed(const std::string& model, const std::vector<std::string>& tensors,
                     const std::string& path);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_EXPOSE_H_

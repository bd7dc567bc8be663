// Finds a model's files: the kind of the given path, and the other file that belongs to it.
#ifndef XSP_ADAPTERS_OPENCV_DNN_FILES_H_
#define XSP_ADAPTERS_OPENCV_DNN_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "xsp/plugin.h"

namespace xsp::opencv_dnn {

enum class Format { kCaffe, kDarknet, kTorch, kTensorflow, kOnnx };

// Names the files of the network's description and of its weights. One of them is empty for a
// format that has one file.
struct Files {
  Format format = Format::kOnnx;
  std::string description;
  std::string weights;
};

// Finds them by the path's suffix; `other` names the second file if it is not beside the first.
// `why` receives the error; empty if there is none.
Files find_files(const std::string& path, const std::string& other, std::string* why);

// Returns the inputs of a prototxt, in its order: the fields `input`, and the outputs of layers of
// the type Input.
std::vector<std::string> caffe_input_names(std::string_view prototxt);

}  // namespace xsp::opencv_dnn

#endif  // XSP_ADAPTERS_OPENCV_DNN_FILES_H_

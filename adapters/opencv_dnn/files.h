// A model's files: what the path that was given is, and which other file belongs to it.
#ifndef XSP_ADAPTERS_OPENCV_DNN_FILES_H_
#define XSP_ADAPTERS_OPENCV_DNN_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "xsp/plugin.h"

namespace xsp::opencv_dnn {

enum class Format { kCaffe, kDarknet, kTorch, kTensorflow, kOnnx };

// The network's description and its weights: one of them may be empty for a format that has one
// file.
struct Files {
  Format format = Format::kOnnx;
  std::string description;
  std::string weights;
};

// By the path's ending; `other` names the second file if it is not beside the first. What is wrong
// is said in `why`; empty: nothing.
Files find_files(const std::string& path, const std::string& other, std::string* why);

// The inputs of a prototxt, in its order: the fields `input`, and the tops of layers of the type
// Input.
std::vector<std::string> caffe_input_names(std::string_view prototxt);

}  // namespace xsp::opencv_dnn

#endif  // XSP_ADAPTERS_OPENCV_DNN_FILES_H_

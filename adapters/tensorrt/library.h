// TensorRT's libraries, which are loaded at run time: libnvinfer (engines), libnvonnxparser (ONNX
// files) and, if it is there, libnvinfer_plugin (operators beyond TensorRT's own).
//
// The headers in third_party/tensorrt define TensorRT's classes, whose tables of functions only
// grow within a major version. So one build of the adapter works with every TensorRT 10.
#ifndef XSP_ADAPTERS_TENSORRT_LIBRARY_H_
#define XSP_ADAPTERS_TENSORRT_LIBRARY_H_

#include <NvInfer.h>
#include <NvOnnxParser.h>

#include <memory>
#include <string>

namespace xsp::tensorrt {

struct Library {
  std::string absent;     // why there is none, as an error's text; empty if there is one
  std::string path;       // of libnvinfer
  std::string version;    // "10.6.0"
  std::string no_parser;  // why ONNX files cannot be read, as an error's text; empty if they can
  nvinfer1::IBuilder* (*create_builder)() = nullptr;
  nvinfer1::IRuntime* (*create_runtime)() = nullptr;
  // The caller deletes the parser before the network.
  nvonnxparser::IParser* (*create_parser)(nvinfer1::INetworkDefinition* network) = nullptr;
};

// Returns the libraries of this process, loaded at the first call; any thread.
const Library& library();

// Returns what TensorRT has logged as errors since the last call, on one line, and forgets it; a
// general text if there is nothing. Any thread.
std::string take_errors();

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_LIBRARY_H_

// Options of the adapter, from --option KEY=VALUE.
#ifndef XSP_ADAPTERS_TENSORRT_OPTIONS_H_
#define XSP_ADAPTERS_TENSORRT_OPTIONS_H_

#include <cstdint>
#include <string>

#include "xsp/plugin.h"

namespace xsp::tensorrt {

struct Options {
  std::string precision = "tf32";  // of engines that are built: fp32, tf32, fp16, bf16
  int workspace_mib = 0;           // most memory of a layer's algorithm; 0: TensorRT's default
  int optimization_level = -1;     // effort of the builder, 0 to 5; -1: TensorRT's default
  int aux_streams = -1;            // most streams beside the main one; -1: TensorRT's choice
  bool cuda_graph = false;         // capture the inference as a CUDA graph, and replay it
  // The source of layers: "host" (ranges of NVTX), "device" (IProfiler); empty: it depends on the
  // levels.
  std::string layers;
};

// Returns why they are wrong, as an error's text; empty: they are not.
std::string parse_options(const xsp_open_options& given, Options* options);
// Parses "cuda" and "cuda:N". Returns -1 for other devices.
int device_index(const std::string& device);
// Returns the options that an engine depends on, as text.
std::string engine_text(const Options& options);

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_OPTIONS_H_

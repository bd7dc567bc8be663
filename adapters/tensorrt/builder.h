// Makes engines of an ONNX file. An engine is built for the exact shapes of the inputs, so each
// batch size gets the kernels that are the fastest for it.
#ifndef XSP_ADAPTERS_TENSORRT_BUILDER_H_
#define XSP_ADAPTERS_TENSORRT_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "adapters/tensorrt/device.h"
#include "adapters/tensorrt/library.h"
#include "adapters/tensorrt/options.h"
#include "formats/onnx/graph.h"
#include "xsp/adapter_model.hpp"
#include "xsp/compiled_cache.hpp"

namespace xsp::tensorrt {

// Returns xsp's number of a type (xsp_dtype); 0 for a type that xsp does not know.
uint32_t dtype_of(nvinfer1::DataType type);
nvinfer1::Dims dims_of(const xsp_tensor& tensor);

class Builder {
 public:
  // Reads the file, and lets TensorRT read it unless it has done so before, which takes seconds. On
  // failure, reports the reason through the host.
  xsp_status open(const xsp_host* host, const std::string& path, const Options& options);

  const formats::Graph& graph() const { return graph_; }
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;

  // Returns the engine for inputs of these shapes, in TensorRT's serialised form: out of the cache,
  // or built, which may take minutes. On failure, reports the reason through the host.
  xsp_status engine(const Device& device, const std::vector<xsp_tensor>& inputs, FileBytes* plan);

 private:
  xsp_status parse();
  // Returns the beginning of the names of files in the cache that `text` tells apart.
  std::string cached(const std::string& text) const;
  xsp_status build(const Device& device, const std::vector<xsp_tensor>& inputs, FileBytes* plan);
  void configure(nvinfer1::IBuilderConfig* config) const;

  const xsp_host* host_ = nullptr;
  std::string path_;
  Options options_;
  formats::Graph graph_;
  uint64_t hash_ = 0;   // of the file
  std::string folder_;  // the cache's
  // They are null as long as TensorRT need not read the file. They are destroyed in the opposite
  // order, as TensorRT demands.
  std::unique_ptr<nvinfer1::IBuilder> builder_;
  std::unique_ptr<nvinfer1::INetworkDefinition> network_;
  std::unique_ptr<nvonnxparser::IParser> parser_;
};

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_BUILDER_H_

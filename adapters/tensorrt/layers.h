// The layers of an engine: a site for each, with its facts from TensorRT's inspector and, if the
// engine was made of an ONNX file, from the model's own graph.
//
// A layer's times come in two ways. Ranges of NVTX are the host's launches of each layer, which
// contain the calls of CUDA, so that kernels can be assigned to it (adapters/tensorrt/ranges.h).
// TensorRT's IProfiler gives the time of each layer on the device, without its start: it records an
// event between two layers, which adds some microseconds to each.
#ifndef XSP_ADAPTERS_TENSORRT_LAYERS_H_
#define XSP_ADAPTERS_TENSORRT_LAYERS_H_

#include <NvInfer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "adapters/tensorrt/inspection.h"
#include "formats/onnx/graph.h"
#include "formats/onnx/shapes.h"

namespace xsp::tensorrt {

// Holds a model's graph and the shapes of its values; no nodes if the model is an engine.
struct Model {
  formats::Graph graph;
  formats::KnownValues values;
};

class Layers {
 public:
  // Makes the sites of an engine's layers. Those of the engine before are forgotten.
  void describe(const std::vector<Layer>& layers, const Model& model);
  // Returns the site of a layer; 0 if the engine has none of that name.
  uint32_t site(std::string_view name) const;
  // Returns the site of the layer that a range runs, or 0 if it runs none: the layers with the same
  // text follow each other in the order of the engine.
  uint32_t site_of_range(std::string_view text);
  // Must be called before the ranges of each run.
  void begin_run();
  size_t count() const { return sites_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <typename Value>
  using ByName = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;
  struct Range {
    std::vector<uint32_t> sites;
    size_t next = 0;  // index of the site of the next range
  };
  ByName<uint32_t> sites_;
  ByName<Range> ranges_;
};

// Says what a layer computes, by the nodes of the model.
struct Work {
  // The nodes of the model that do most of the layer's work: its only one; its only product or
  // convolution, or without these its only reduction, normalisation or pooling; or the
  // convolutions of one tensor that it computes side by side. Empty if there are no such nodes.
  std::vector<const formats::Node*> nodes;
  // Their operator; without such nodes, all operators of the layer, joined by "+". Empty if no node
  // of the model is known.
  std::string type;
};
Work work_of(const Layer& layer, const formats::Graph& graph);

// Receives the times of layers from TensorRT, run by run.
class Recorder : public nvinfer1::IProfiler {
 public:
  explicit Recorder(const Layers* layers) : layers_(layers) {}

  void reportLayerTime(const char* name, float milliseconds) noexcept override;
  // Must be called after each run: its layers are those reported since the call before.
  void end_run(int64_t start_ns, int64_t end_ns);
  // Adds the median of each layer's times in all runs as the counter `iprofiler_ns` of its site,
  // and forgets the runs.
  void add_counters();
  // Emits the layers of all runs, and forgets them. A layer has no start of its own: the layers of
  // a run stand one after another, and the last ends with the run.
  void emit(uint32_t thread);

 private:
  void forget();

  struct Time {
    uint32_t site;
    int64_t ns;
  };
  struct Run {
    int64_t start_ns;
    int64_t end_ns;
    size_t first;  // index of its first time
  };
  const Layers* layers_;
  std::vector<Time> times_;
  std::vector<Run> runs_;
  size_t first_of_next_ = 0;
};

}  // namespace xsp::tensorrt

#endif  // XSP_ADAPTERS_TENSORRT_LAYERS_H_

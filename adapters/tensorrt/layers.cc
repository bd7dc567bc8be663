#include "adapters/tensorrt/layers.h"

#include <algorithm>
#include <cmath>

#include "xsp/adapter.hpp"

namespace xsp::tensorrt {
namespace {

constexpr size_t kSpansPerDrain = 10'000;
// TensorRT gives this type to every layer whose kernel it writes itself.
constexpr std::string_view kGenerated = "kgen";

// Operators beside which the work of all others is small.
bool is_heavy(const std::string& op_type) {
  return op_type == "Conv" || op_type == "ConvTranspose" || op_type == "MatMul" ||
         op_type == "Gemm";
}

// Operators that read an input more than once, or less of it than they are given. Beside them,
// those that compute each element by itself are small.
bool is_moderate(const std::string& op_type) {
  const auto ends_with = [&](std::string_view ending) {
    return op_type.size() >= ending.size() &&
           op_type.compare(op_type.size() - ending.size(), ending.size(), ending) == 0;
  };
  return ends_with("Softmax") || ends_with("Normalization") || ends_with("Pool") ||
         op_type.rfind("Reduce", 0) == 0 || op_type == "TopK" || op_type == "Resize";
}

// Holds a layer's tensors as they are told.
struct Facts {
  std::vector<std::vector<int64_t>> input_shapes, output_shapes;
  std::vector<std::string> input_dtypes, output_dtypes;
  double activation_bytes = 0;
  double output_bytes = 0;
  double parameter_bytes = 0;
};

double dtype_bytes_of(const std::string& name) {
  for (uint32_t dtype = XSP_FLOAT32; dtype <= XSP_BFLOAT16; ++dtype) {
    if (name == dtype_name(dtype)) return static_cast<double>(dtype_bytes(dtype));
  }
  return name == "float8" ? 1 : 0;
}

double elements_of(const std::vector<int64_t>& shape) {
  double elements = 1;
  for (const int64_t size : shape) elements *= static_cast<double>(std::max<int64_t>(size, 0));
  return elements;
}

double bytes_of(const Tensor& tensor) {
  return dtype_bytes_of(tensor.dtype) * elements_of(tensor.dimensions);
}

Facts facts_of(const Layer& layer) {
  Facts facts;
  for (const Tensor& tensor : layer.inputs) {
    facts.input_shapes.push_back(tensor.dimensions);
    facts.input_dtypes.push_back(tensor.dtype);
    (tensor.is_constant ? facts.parameter_bytes : facts.activation_bytes) += bytes_of(tensor);
  }
  for (const Tensor& tensor : layer.outputs) {
    facts.output_shapes.push_back(tensor.dimensions);
    facts.output_dtypes.push_back(tensor.dtype);
    facts.output_bytes += bytes_of(tensor);
  }
  facts.parameter_bytes += static_cast<double>(layer.weight_bytes);
  return facts;
}

bool is_whole(const std::vector<int64_t>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; });
}

// Makes the shapes of a convolution those of all convolutions beside it, channel after channel.
// Returns false if one of these has another kernel, or is not known.
bool widen(const std::vector<const formats::Node*>& nodes, const Model& model, Facts* own) {
  if (nodes.size() == 1) return true;
  if (own->input_shapes.size() < 2 || own->output_shapes.empty()) return false;
  std::vector<int64_t>& weights = own->input_shapes[1];
  std::vector<int64_t>& outputs = own->output_shapes[0];
  if (weights.empty() || outputs.size() < 2) return false;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const auto found = model.values.find(nodes[i]->inputs[1]);
    if (found == model.values.end() || !is_whole(found->second.shape)) return false;
    const std::vector<int64_t>& other = found->second.shape;
    if (other.size() != weights.size() ||
        !std::equal(other.begin() + 1, other.end(), weights.begin() + 1)) {
      return false;
    }
    weights[0] += other[0];
    outputs[1] += other[0];
  }
  return true;
}

// Gives the layer the shapes of its main nodes, weights included, as other frameworks have them:
// TensorRT tells no weights, and adds dimensions. Tensors that a fused sum adds follow last.
void take_shapes(const std::vector<const formats::Node*>& nodes, const Model& model,
                 const Layer& layer, Facts* facts) {
  const formats::Node& node = *nodes.front();
  Facts own;
  const std::string dtype = layer.inputs.empty() ? "" : layer.inputs.front().dtype;
  size_t computed = 0;
  for (const std::string& name : node.inputs) {
    if (name.empty()) continue;
    const auto known = model.values.find(name);
    if (known == model.values.end() || !is_whole(known->second.shape)) return;
    own.input_shapes.push_back(known->second.shape);
    const std::string given = formats::dtype_name(known->second.dtype);
    const bool is_float = given == "float32" || given == "float16" || given == "bfloat16";
    own.input_dtypes.push_back(is_float && !dtype.empty() ? dtype : given);
    if (model.graph.initializer(name) == nullptr) ++computed;
  }
  for (const std::string& name : node.outputs) {
    const auto known = model.values.find(name);
    if (known == model.values.end() || !is_whole(known->second.shape)) return;
    own.output_shapes.push_back(known->second.shape);
  }
  if (!widen(nodes, model, &own)) return;
  const bool may_add =
      (node.op_type == "Conv" || is_moderate(node.op_type)) && !own.output_shapes.empty();
  for (size_t i = computed; may_add && i < layer.inputs.size(); ++i) {
    if (elements_of(layer.inputs[i].dimensions) != elements_of(own.output_shapes.front())) continue;
    own.input_shapes.push_back(own.output_shapes.front());
    own.input_dtypes.push_back(layer.inputs[i].dtype);
  }
  facts->input_shapes = own.input_shapes;
  facts->input_dtypes = own.input_dtypes;
  if (own.output_shapes.size() == facts->output_dtypes.size()) {
    facts->output_shapes = own.output_shapes;
  }
}

std::string formats_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string> texts;
  for (const Tensor& tensor : tensors) texts.push_back(tensor.format);
  return json_strings(texts);
}

// Returns whether these are convolutions of one tensor, which TensorRT computes as one.
bool are_beside(const std::vector<const formats::Node*>& nodes) {
  return nodes.size() > 1 && std::all_of(nodes.begin(), nodes.end(), [&](const auto* node) {
           return node->op_type == "Conv" && node->inputs.size() > 1 && node->outputs.size() == 1 &&
                  node->inputs[0] == nodes.front()->inputs[0];
         });
}

uint32_t make_site(const Layer& layer, const Model& model) {
  Facts facts = facts_of(layer);
  const Work work = work_of(layer, model.graph);
  std::string type = layer.operation.empty() ? layer.type : layer.operation;
  if (!work.nodes.empty()) {
    type = work.nodes.front()->op_type;
    take_shapes(work.nodes, model, layer, &facts);
  } else if (type == "gemm") {
    type = "MatMul";  // several products of the model in one
  } else if (type == kGenerated && !work.type.empty()) {
    type = work.type;
  }
  if (type.empty()) type = "layer";  // an engine that was built without details
  const uint32_t site = xsp_intern_site(XSP_LEVEL_LAYER, layer.name.c_str(), type.c_str());
  const auto set = [site](const char* key, const std::string& value) {
    if (!value.empty()) xsp_site_attribute(site, key, value.c_str());
  };
  set("input_shapes", json_shapes(facts.input_shapes));
  set("input_dtypes", json_strings(facts.input_dtypes));
  set("output_shapes", json_shapes(facts.output_shapes));
  set("output_dtypes", json_strings(facts.output_dtypes));
  set("provider", "TensorRT");
  set("tensorrt_type", layer.type);
  set("tactic", layer.tactic);
  if (!layer.outputs.empty()) set("precision", layer.outputs.front().dtype);
  set("input_formats", formats_of(layer.inputs));
  set("output_formats", formats_of(layer.outputs));
  if (layer.sources) set("source_layers", json_strings(*layer.sources));
  if (layer.type.empty()) return site;
  xsp_site_counter(site, "output_bytes", facts.output_bytes);
  xsp_site_counter(site, "activation_bytes", facts.activation_bytes);
  xsp_site_counter(site, "parameter_bytes", facts.parameter_bytes);
  return site;
}

}  // namespace

Work work_of(const Layer& layer, const formats::Graph& graph) {
  Work work;
  if (!layer.sources) return work;
  std::vector<const formats::Node*> all, heavy, moderate;
  std::vector<std::string> types;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::string label = node_label(graph, i);
    if (std::find(layer.sources->begin(), layer.sources->end(), label) == layer.sources->end()) {
      continue;
    }
    const formats::Node* node = &graph.nodes[i];
    all.push_back(node);
    if (is_heavy(node->op_type)) heavy.push_back(node);
    if (is_moderate(node->op_type)) moderate.push_back(node);
    if (std::find(types.begin(), types.end(), node->op_type) == types.end()) {
      types.push_back(node->op_type);
    }
  }
  const std::vector<const formats::Node*>& chief = heavy.empty() ? moderate : heavy;
  const bool is_one_type =
      !chief.empty() && std::all_of(chief.begin(), chief.end(), [&](auto* node) {
        return node->op_type == chief.front()->op_type;
      });
  if (is_one_type) {
    work.type = chief.front()->op_type;
  } else {
    for (const std::string& type : types) work.type += (work.type.empty() ? "" : "+") + type;
  }
  if (chief.size() == 1 || are_beside(chief)) work.nodes = chief;
  if (all.size() == 1 && layer.sources->size() == 1) work.nodes = all;
  return work;
}

void Layers::describe(const std::vector<Layer>& layers, const Model& model) {
  sites_.clear();
  ranges_.clear();
  for (const Layer& layer : layers) {
    if (sites_.count(layer.name) > 0) continue;
    const uint32_t site = make_site(layer, model);
    sites_[layer.name] = site;
    ranges_[std::string(range_of(layer.name))].sites.push_back(site);
  }
}

void Layers::begin_run() {
  for (auto& [text, range] : ranges_) range.next = 0;
}

uint32_t Layers::site_of_range(std::string_view text) {
  const auto found = ranges_.find(text);
  if (found == ranges_.end()) return 0;
  Range& range = found->second;
  return range.sites[range.next++ % range.sites.size()];
}

uint32_t Layers::site(std::string_view name) const {
  const auto found = sites_.find(name);
  return found == sites_.end() ? 0 : found->second;
}

void Recorder::reportLayerTime(const char* name, float milliseconds) noexcept {
  uint32_t site = layers_->site(name);
  if (site == 0) site = xsp_intern_site(XSP_LEVEL_LAYER, name, "layer");
  times_.push_back({site, std::llround(static_cast<double>(milliseconds) * 1e6)});
}

void Recorder::end_run(int64_t start_ns, int64_t end_ns) {
  runs_.push_back({start_ns, end_ns, first_of_next_});
  first_of_next_ = times_.size();
}

void Recorder::emit(uint32_t thread) {
  size_t emitted = 0;
  uint64_t clipped = 0;
  for (size_t i = 0; i < runs_.size(); ++i) {
    const Run& run = runs_[i];
    const size_t end = i + 1 < runs_.size() ? runs_[i + 1].first : first_of_next_;
    int64_t at_ns = run.end_ns;
    for (size_t t = run.first; t < end; ++t) at_ns -= times_[t].ns;
    if (at_ns < run.start_ns) ++clipped;
    for (size_t t = run.first; t < end; ++t) {
      xsp_complete_span span{};
      span.struct_size = sizeof span;
      span.site_id = times_[t].site;
      span.thread = thread;
      span.start_ns = std::max(at_ns, run.start_ns);
      at_ns += times_[t].ns;
      span.duration_ns = std::max<int64_t>(at_ns - span.start_ns, 0);
      xsp_emit(&span);
      // If spans are emitted faster than the drainer writes, some are lost.
      if (++emitted % kSpansPerDrain == 0) xsp_flush();
    }
  }
  if (clipped > 0) xsp_count_loss("tensorrt", "layers that took longer than their run", clipped);
  forget();
}

void Recorder::add_counters() {
  std::unordered_map<uint32_t, std::vector<int64_t>> by_site;
  for (const Time& time : times_) by_site[time.site].push_back(time.ns);
  for (auto& [site, times] : by_site) {
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    xsp_site_counter(site, "iprofiler_ns", static_cast<double>(*middle));
  }
  forget();
}

void Recorder::forget() {
  times_.clear();
  runs_.clear();
  first_of_next_ = 0;
}

}  // namespace xsp::tensorrt

#include "desk/divergence/divergence.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "desk/divergence/pair.h"
#include "formats/onnx/expose.h"
#include "formats/onnx/reader.h"
#include "shared/base/scratch.h"

namespace xsp::divergence {
namespace {

namespace fs = std::filesystem;

// Outputs belong together by name if all names are the same, and else by position.
std::vector<Compared> outputs_of(const Pair& pair) {
  const std::vector<std::string> a = pair.outputs(0), b = pair.outputs(1);
  const std::set<std::string> names_b(b.begin(), b.end());
  const bool by_name = std::set<std::string>(a.begin(), a.end()) == names_b;
  std::vector<Compared> outputs;
  for (size_t i = 0; i < a.size(); ++i) {
    Compared output;
    output.tensor = a[i];
    if (by_name || i < b.size()) {
      output.tensor_b = by_name ? a[i] : b[i];
    } else {
      output.not_compared = "B has no such output";
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// Returns the tensors that nodes of the graph make and that can be outputs.
std::set<std::string> inner_tensors(const formats::Graph& graph) {
  std::set<std::string> tensors;
  for (const formats::Node& node : graph.nodes) {
    const bool is_number = node.op_type.rfind("Sequence", 0) != 0 &&
                           node.op_type.rfind("Optional", 0) != 0 &&
                           node.op_type != "SplitToSequence" && node.op_type != "Constant";
    if (is_number) tensors.insert(node.outputs.begin(), node.outputs.end());
  }
  tensors.erase("");
  return tensors;
}

// Writes the copy of a model whose outputs are its own and these tensors, and links the files of
// its weights.
Result<std::string> expose(const std::string& model, const formats::Graph& graph,
                           std::vector<std::string> tensors, const fs::path& folder) {
  const auto is_output = [&](const std::string& name) {
    return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                       [&](const formats::ValueInfo& output) { return output.name == name; });
  };
  std::erase_if(tensors, is_output);
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = folder / fs::path(model).filename();
  for (const formats::Tensor& tensor : graph.initializers) {
    const fs::path& place = tensor.external_location;
    if (place.empty() || fs::exists(folder / place, error)) continue;
    fs::create_directories((folder / place).parent_path(), error);
    fs::create_symlink(fs::absolute(model).parent_path() / place, folder / place, error);
  }
  XSP_CHECK_OK(formats::write_exposed(model, tensors, path));
  return path.string();
}

class Layers {
 public:
  Layers(const Settings& settings, const fs::path& folder, const std::atomic<int>& stop)
      : settings_(settings), folder_(folder), stop_(stop) {}

  // Compares the tensors that both models have.
  Status compare(Divergence* divergence) {
    std::array<std::string, 2> models;
    for (size_t side = 0; side < 2; ++side) {
      const std::string& model = settings_.sides[side].worker.model;
      if (fs::path(model).extension() != ".onnx") {
        return not_available("both models must be ONNX files, and " + model + " is none");
      }
      XSP_TRY(graphs_[side], formats::read_graph(model));
    }
    std::vector<Compared> layers = common_layers();
    if (layers.empty()) return not_available("no inner tensors have the same name in both models");
    std::vector<std::string> names;
    for (const Compared& layer : layers) names.push_back(layer.tensor);
    for (size_t side = 0; side < 2; ++side) {
      XSP_TRY(models[side], expose(settings_.sides[side].worker.model, graphs_[side], names,
                                   folder_ / (side == 0 ? "exposed_a" : "exposed_b")));
    }
    XSP_TRY(const auto pair, Pair::open(settings_, models, folder_, stop_));
    XSP_CHECK_OK(pair->compare(settings_, &layers));
    XSP_CHECK_OK(pair->finish());
    find_first(&layers, divergence);
    divergence->layers = std::move(layers);
    return Ok{};
  }

 private:
  std::vector<Compared> common_layers() const {
    const std::set<std::string> a = inner_tensors(graphs_[0]), b = inner_tensors(graphs_[1]);
    std::vector<Compared> layers;
    for (size_t i = 0; i < graphs_[0].nodes.size(); ++i) {
      const formats::Node& node = graphs_[0].nodes[i];
      for (const std::string& output : node.outputs) {
        if (a.count(output) == 0 || b.count(output) == 0) continue;
        Compared layer;
        layer.tensor = layer.tensor_b = output;
        layer.layer = formats::node_label(graphs_[0], i);
        layer.type = node.op_type;
        layers.push_back(std::move(layer));
      }
    }
    return layers;
  }

  // A tensor that is not compared passes on what its layer's inputs differ by.
  void find_first(std::vector<Compared>* layers, Divergence* divergence) const {
    std::map<std::string, size_t> positions;
    for (size_t i = 0; i < layers->size(); ++i) positions[(*layers)[i].tensor] = i;
    std::map<std::string, double> differs_by;
    for (const formats::Node& node : graphs_[0].nodes) {
      double inputs = 0;
      for (const std::string& input : node.inputs) {
        const auto known = differs_by.find(input);
        if (known != differs_by.end()) inputs = std::max(inputs, known->second);
      }
      for (const std::string& output : node.outputs) {
        const auto position = positions.find(output);
        if (position == positions.end() || !(*layers)[position->second].not_compared.empty()) {
          differs_by[output] = inputs;
          continue;
        }
        Compared& layer = (*layers)[position->second];
        layer.inputs_rms_relative = inputs;
        differs_by[output] = layer.difference.rms_relative();
        const bool differs = layer.difference.rms_relative() > settings_.tolerance ||
                             layer.difference.not_numbers() > 0;
        if (differs && inputs <= settings_.tolerance && !divergence->first) {
          divergence->first = position->second;
        }
      }
    }
  }

  const Settings& settings_;
  const fs::path folder_;
  const std::atomic<int>& stop_;
  std::array<formats::Graph, 2> graphs_;
};

}  // namespace

Result<Divergence> compare_outputs(const Settings& settings, experiment::Listener& listener,
                                   const std::atomic<int>& stop) {
  XSP_TRY(const auto scratch, ScratchFolder::create());
  Divergence divergence;
  listener.step("comparing the outputs");
  XSP_TRY(const auto pair,
          Pair::open(settings, {settings.sides[0].worker.model, settings.sides[1].worker.model},
                     scratch->path(), stop));
  divergence.outputs = outputs_of(*pair);
  XSP_CHECK_OK(pair->compare(settings, &divergence.outputs));
  XSP_CHECK_OK(pair->finish());
  if (!settings.wants_layers) {
    divergence.layers_not_compared = "they were not asked for";
    return divergence;
  }
  listener.step("comparing the layers");
  const Status compared = Layers(settings, scratch->path(), stop).compare(&divergence);
  if (!compared.ok()) divergence.layers_not_compared = compared.error().text;
  return divergence;
}

}  // namespace xsp::divergence

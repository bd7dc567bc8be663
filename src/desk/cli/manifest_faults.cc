#include "desk/cli/manifest_faults.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "desk/cli/items.h"
#include "desk/experiment/frameworks.h"
#include "desk/manifest/resolve.h"
#include "desk/predict/describe.h"
#include "formats/onnx/reader.h"
#include "process/load/model_pipelines.h"
#include "shared/base/words.h"
#include "zoo/shared/zoo.h"

namespace xsp::cli {
namespace {

using manifest::Manifest;
using manifest::Source;
using process::TensorSpec;

constexpr size_t kNamesTold = 3;
constexpr const char* kOnnx = ".onnx";

// The tensors of a model's own file.
struct Signature {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};

void say_nothing(const std::string&) {}

std::vector<TensorSpec> specs_of(const std::vector<formats::ValueInfo>& values) {
  std::vector<TensorSpec> specs;
  for (const formats::ValueInfo& value : values) {
    TensorSpec spec;
    spec.name = value.name;
    spec.dtype = predict::dtype_of(formats::dtype_name(value.dtype));
    for (const formats::Dimension& dimension : value.dimensions) {
      spec.dimensions.push_back(dimension.value);
      spec.symbols.push_back(dimension.symbol);
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

bool has_shapes(const std::vector<formats::ValueInfo>& values) {
  for (const formats::ValueInfo& value : values) {
    if (!value.is_tensor || !value.has_shape) return false;
  }
  return true;
}

// Returns whether a framework of this machine opens ONNX, whose tensors keep their names there.
// Each is asked once, because that takes a process.
bool opens_onnx(const std::string& framework) {
  static std::map<std::string, bool> answers;
  const auto known = answers.find(framework);
  if (known != answers.end()) return known->second;
  bool& answer = answers[framework] = false;
  const auto installation = experiment::this_installation();
  if (!installation.ok()) return answer;
  const std::atomic<int> stop = 0;
  for (const auto& one : experiment::probe_frameworks(*installation, {framework}, stop)) {
    if (!one.probe.ok()) continue;
    const std::vector<std::string>& formats = one.probe->formats;
    answer = std::find(formats.begin(), formats.end(), kOnnx) != formats.end();
  }
  return answer;
}

// Finds the faults of one manifest.
class Checker {
 public:
  explicit Checker(Manifest manifest) : manifest_(std::move(manifest)) {}

  std::vector<Error> check() {
    check_framework();
    check_files();
    for (Error& fault : predict::step_faults(manifest_)) faults_.push_back(std::move(fault));
    check_labels();
    const auto signature = find_signature();
    if (signature) check_tensors(*signature);
    if (faults_.empty()) check_answers(signature);
    return std::move(faults_);
  }

 private:
  void add(const Error& error) {
    if (error.code != Code::kNotAvailable) faults_.push_back(error);
  }
  void add(const std::string& field, const std::string& what) {
    faults_.push_back(usage(manifest_.place_of(field) + ": " + what));
  }

  void check_framework() {
    if (!manifest_.framework) return;
    const auto installation = experiment::this_installation();
    if (!installation.ok()) return;
    const Status known = experiment::check_framework_name(*installation, manifest_.framework->name);
    if (!known.ok()) add("framework.name", known.error().text);
  }

  // Finds the model's file and those of the steps.
  void check_files() {
    auto model = manifest::find_here(manifest_, manifest_.model, "model");
    if (model.ok()) {
      model_ = std::move(*model);
    } else {
      add(model.error());
    }
    const auto use = [this](const Source& source, const std::string& field,
                            std::string* path) -> Status {
      auto found = manifest::find_here(manifest_, source, field);
      if (found.ok()) {
        *path = std::move(*found);
      } else {
        add(found.error());
      }
      return Ok{};
    };
    (void)manifest::each_file(&manifest_, use);
  }

  void check_labels() {
    for (size_t i = 0; i < manifest_.outputs.size(); ++i) {
      const auto& labels = manifest_.outputs[i].labels;
      if (!labels) continue;
      if (labels->source) {
        const std::string field = "outputs[" + std::to_string(i) + "].labels";
        const auto path = manifest::find_here(manifest_, *labels->source, field);
        if (!path.ok()) add(path.error());
        if (!path.ok() || path->empty()) continue;
      } else if (!labels->metadata.empty() && model_.empty()) {
        continue;
      }
      const auto read = manifest::labels_of(manifest_, i, say_nothing);
      if (read.ok()) {
        labels_[i] = read->size();
      } else {
        add(read.error());
      }
    }
  }

  // Returns the model's own tensors, if they are known by the names that its framework gives them.
  std::optional<Signature> find_signature() {
    if (manifest_.framework && !opens_onnx(manifest_.framework->name)) return std::nullopt;
    if (manifest_.model.kind == Source::Kind::kZoo) {
      const zoo::ModelDescription* built = zoo::find_model(manifest_.model.place);
      if (built == nullptr) return std::nullopt;
      return Signature{specs_of(built->inputs), specs_of(built->outputs)};
    }
    if (std::filesystem::path(model_).extension() != kOnnx) return std::nullopt;
    const auto graph = formats::read_graph(model_);
    if (!graph.ok()) {
      add("model", graph.error().text);
      return std::nullopt;
    }
    const std::vector<formats::ValueInfo> inputs = graph->required_inputs();
    if (!has_shapes(inputs) || !has_shapes(graph->outputs)) return std::nullopt;
    return Signature{specs_of(inputs), specs_of(graph->outputs)};
  }

  void check_tensor(const manifest::Tensor& tensor, const std::string& field,
                    const std::vector<TensorSpec>& specs) {
    const TensorSpec* own = nullptr;
    for (const TensorSpec& spec : specs) {
      if (spec.name == tensor.pipeline.name) own = &spec;
    }
    if (own == nullptr) {
      return add(field + ".name", "the model has no '" + tensor.pipeline.name + "': it has " +
                                      process::signature_text(specs));
    }
    const uint32_t dtype = predict::dtype_of(tensor.dtype);
    if (dtype != 0 && own->dtype != 0 && dtype != own->dtype) {
      add(field + ".dtype", "the model has " + process::signature_text({*own}) + ": correct it");
    }
    if (manifest_.lines.count(field + ".dimensions") == 0) return;
    std::vector<int64_t> dimensions;
    for (const std::string& text : tensor.dimensions) {
      int64_t number = pipelines::kUnknown;
      std::from_chars(text.data(), text.data() + text.size(), number);
      dimensions.push_back(number);
    }
    if (pipelines::fits(dimensions, own->dimensions)) return;
    add(field + ".dimensions", "[" + joined(tensor.dimensions) +
                                   "] does not fit the model, which has " +
                                   process::signature_text({*own}) + ": correct them");
  }

  void check_tensors(const Signature& model) {
    for (size_t i = 0; i < manifest_.inputs.size(); ++i) {
      check_tensor(manifest_.inputs[i], "inputs[" + std::to_string(i) + "]", model.inputs);
    }
    for (size_t i = 0; i < manifest_.outputs.size(); ++i) {
      check_tensor(manifest_.outputs[i], "outputs[" + std::to_string(i) + "]", model.outputs);
    }
  }

  // Checks the steps against the model's own tensors, and the labels against the steps.
  void check_answers(const std::optional<Signature>& model) {
    const auto described = predict::describe(manifest_);
    if (!described.ok()) return;  // a file of a step is not here, or no request is answered
    for (size_t i = 0; i < described->outputs.size(); ++i) {
      const auto labels = labels_.find(described->outputs[i]);
      if (labels == labels_.end()) continue;
      const Status fits =
          check_characters(manifest_, described->outputs[i], described->answers[i], labels->second);
      if (!fits.ok()) add(fits.error());
    }
    if (!model) return;
    const auto made =
        process::make_pipelines(described->description, model->inputs, model->outputs);
    if (!made.ok()) add(made.error());
  }

  Manifest manifest_;
  std::string model_;                // the path of its file; empty: it is not here
  std::map<size_t, size_t> labels_;  // how many labels an output has, if they are here
  std::vector<Error> faults_;
};

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= kNamesTold) {
    return (names.size() == 1 ? "model " : "models ") + joined(names);
  }
  return "models " + joined(std::vector<std::string>(names.begin(), names.begin() + kNamesTold)) +
         " and " + std::to_string(names.size() - kNamesTold) + " more";
}

}  // namespace

std::vector<std::string> faults_of(const std::vector<Manifest>& manifests) {
  // Models of a family share fields, of which a fault is told once.
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> names;
  for (const Manifest& manifest : manifests) {
    for (const Error& fault : Checker(manifest).check()) {
      std::vector<std::string>& of_fault = names[fault.text];
      if (of_fault.empty()) order.push_back(fault.text);
      if (of_fault.empty() || of_fault.back() != manifest.name) of_fault.push_back(manifest.name);
    }
  }
  for (std::string& text : order) text += " (" + names_text(names[text]) + ")";
  return order;
}

}  // namespace xsp::cli

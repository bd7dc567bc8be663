#include "desk/predict/describe.h"

#include <charconv>
#include <filesystem>
#include <string>

#include "pipelines/shared/step.h"

namespace xsp::predict {
namespace {

namespace fs = std::filesystem;
using manifest::Manifest;
using manifest::Tensor;

bool is_batch(const std::string& dimension) { return dimension == "N" || dimension == "batch"; }

// Returns the position of the batch dimension; -1: there is none. A tensor whose dimensions are not
// told begins with it.
int batch_axis_of(const Manifest& manifest, const std::string& field, const Tensor& tensor) {
  for (size_t i = 0; i < tensor.dimensions.size(); ++i) {
    if (is_batch(tensor.dimensions[i])) return static_cast<int>(i);
  }
  return manifest.lines.count(field + ".dimensions") > 0 ? -1 : 0;
}

std::vector<int64_t> dimensions_of(const Tensor& tensor) {
  std::vector<int64_t> dimensions;
  for (const std::string& text : tensor.dimensions) {
    if (is_batch(text)) continue;
    int64_t number = pipelines::kUnknown;
    std::from_chars(text.data(), text.data() + text.size(), number);
    dimensions.push_back(number);
  }
  return dimensions;
}

uint32_t dtype_of(const std::string& name) {
  for (uint32_t dtype = 1; dtype <= XSP_BFLOAT16; ++dtype) {
    if (name == dtype_name(dtype)) return dtype;
  }
  return 0;
}

// Returns the name of the step's parameter that is a path; empty: it has none.
std::string path_parameter_of(const std::string& step) {
  for (const pipelines::StepKind& kind : pipelines::all_steps()) {
    if (kind.name == step) return kind.path;
  }
  return {};
}

pipelines::TensorDescription description_of(const Manifest& manifest, const std::string& field,
                                            const Tensor& tensor) {
  pipelines::TensorDescription description;
  description.place = manifest.place_of(field);
  description.name = tensor.pipeline.name;
  description.from = tensor.pipeline.from;
  description.batch_axis = batch_axis_of(manifest, field, tensor);
  for (size_t i = 0; i < tensor.pipeline.steps.size(); ++i) {
    const manifest::Step& step = tensor.pipeline.steps[i];
    auto params = step.params;
    const auto path = params.find(path_parameter_of(step.name));
    if (path != params.end() && !path->second.empty()) {
      path->second = fs::absolute(fs::path(manifest.file).parent_path() / path->second);
    }
    description.steps.push_back({manifest.place_of(field + ".steps[" + std::to_string(i) + "]"),
                                 step.name, std::move(params)});
  }
  return description;
}

// A manifest that does not tell a tensor's type or dimensions is checked by the worker alone.
bool is_told(const Manifest& manifest, const std::string& field, const Tensor& tensor) {
  return dtype_of(tensor.dtype) != 0 && manifest.lines.count(field + ".dimensions") > 0;
}

}  // namespace

Result<Described> describe(const Manifest& manifest) {
  Described described;
  bool has_windows = false;
  for (size_t i = 0; i < manifest.inputs.size(); ++i) {
    const std::string field = "inputs[" + std::to_string(i) + "]";
    const Tensor& tensor = manifest.inputs[i];
    auto input = description_of(manifest, field, tensor);
    XSP_TRY(const pipelines::Type given, pipelines::type_of_request(input));
    XSP_TRY(const auto pipeline, pipelines::Pipeline::make(input, given));
    if (is_told(manifest, field, tensor)) {
      XSP_CHECK_OK(check_tensor(pipeline, dtype_of(tensor.dtype), dimensions_of(tensor)));
    }
    has_windows |= pipeline.result().kind == pipelines::Kind::kWindows;
    described.description.inputs.push_back(std::move(input));
  }
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    const std::string field = "outputs[" + std::to_string(i) + "]";
    const Tensor& tensor = manifest.outputs[i];
    if (tensor.pipeline.steps.empty()) continue;
    auto output = description_of(manifest, field, tensor);
    if (is_told(manifest, field, tensor)) {
      const auto type_of = has_windows ? pipelines::windows_type : pipelines::tensor_type;
      const auto given = type_of(dtype_of(tensor.dtype), dimensions_of(tensor));
      XSP_TRY(const auto pipeline, pipelines::Pipeline::make(output, given));
      described.answers.push_back(pipeline.result());
    } else {
      described.answers.push_back({pipelines::Kind::kNothing, 0, {}, "", ""});
    }
    described.description.outputs.push_back(std::move(output));
    described.outputs.push_back(i);
  }
  if (described.description.inputs.empty()) {
    return usage(manifest.place_of("inputs") + ": there are none: say how a request becomes them");
  }
  if (described.outputs.empty()) {
    return usage(manifest.place_of("outputs") +
                 ": none has steps: say how an answer is made, such as steps: [top]");
  }
  return described;
}

}  // namespace xsp::predict

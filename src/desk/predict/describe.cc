#include "desk/predict/describe.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include "pipelines/shared/step.h"

namespace xsp::predict {
namespace {

namespace fs = std::filesystem;
using manifest::Manifest;
using manifest::Tensor;

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

std::string field_of(const char* side, size_t number) {
  return std::string(side) + "[" + std::to_string(number) + "]";
}

struct Input {
  pipelines::TensorDescription description;
  bool has_windows = false;
};

Result<Input> describe_input(const Manifest& manifest, size_t number) {
  const std::string field = field_of("inputs", number);
  const Tensor& tensor = manifest.inputs[number];
  Input input{description_of(manifest, field, tensor), false};
  XSP_TRY(const pipelines::Type given, pipelines::type_of_request(input.description));
  XSP_TRY(const auto pipeline, pipelines::Pipeline::make(input.description, given));
  if (is_told(manifest, field, tensor)) {
    XSP_CHECK_OK(check_tensor(pipeline, dtype_of(tensor.dtype), dimensions_of(tensor)));
  }
  input.has_windows = pipeline.result().kind == pipelines::Kind::kWindows;
  return input;
}

struct Output {
  pipelines::TensorDescription description;
  pipelines::Type answer;
};

Result<Output> describe_output(const Manifest& manifest, size_t number, bool has_windows) {
  const std::string field = field_of("outputs", number);
  const Tensor& tensor = manifest.outputs[number];
  Output output{description_of(manifest, field, tensor),
                {pipelines::Kind::kNothing, 0, {}, "", ""}};
  if (!is_told(manifest, field, tensor)) return output;
  const auto type_of = has_windows ? pipelines::windows_type : pipelines::tensor_type;
  const auto given = type_of(dtype_of(tensor.dtype), dimensions_of(tensor));
  XSP_TRY(const auto pipeline, pipelines::Pipeline::make(output.description, given));
  output.answer = pipeline.result();
  return output;
}

bool has_steps(const Tensor& tensor) { return !tensor.pipeline.steps.empty(); }

// Each step's files are here: they are among its parameters.
bool has_files(const manifest::Step& step) {
  return std::all_of(step.files.begin(), step.files.end(),
                     [&](const auto& file) { return step.params.count(file.first) > 0; });
}

bool has_files(const Tensor& tensor) {
  return std::all_of(tensor.pipeline.steps.begin(), tensor.pipeline.steps.end(),
                     [](const manifest::Step& step) { return has_files(step); });
}

// Checks the steps one by one.
void check_steps(const Manifest& manifest, const std::string& field, const Tensor& tensor,
                 std::vector<Error>* faults) {
  const auto description = description_of(manifest, field, tensor);
  for (size_t i = 0; i < description.steps.size(); ++i) {
    const Status status =
        pipelines::check_step(description.steps[i], has_files(tensor.pipeline.steps[i]));
    if (!status.ok()) faults->push_back(status.error());
  }
}

// Returns whether an input gives windows.
bool check_inputs(const Manifest& manifest, std::vector<Error>* faults) {
  bool has_windows = false;
  for (size_t i = 0; i < manifest.inputs.size(); ++i) {
    const Tensor& tensor = manifest.inputs[i];
    if (!has_files(tensor)) {
      check_steps(manifest, field_of("inputs", i), tensor, faults);
      continue;
    }
    const auto input = describe_input(manifest, i);
    if (!input.ok()) faults->push_back(input.error());
    has_windows |= input.ok() && input->has_windows;
  }
  return has_windows;
}

}  // namespace

bool is_batch(const std::string& dimension) { return dimension == "N" || dimension == "batch"; }

uint32_t dtype_of(const std::string& name) {
  for (uint32_t dtype = 1; dtype <= XSP_BFLOAT16; ++dtype) {
    if (name == dtype_name(dtype)) return dtype;
  }
  return 0;
}

Result<Described> describe(const Manifest& manifest) {
  Described described;
  bool has_windows = false;
  for (size_t i = 0; i < manifest.inputs.size(); ++i) {
    XSP_TRY(Input input, describe_input(manifest, i));
    has_windows |= input.has_windows;
    described.description.inputs.push_back(std::move(input.description));
  }
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    if (!has_steps(manifest.outputs[i])) continue;
    XSP_TRY(Output output, describe_output(manifest, i, has_windows));
    described.answers.push_back(std::move(output.answer));
    described.description.outputs.push_back(std::move(output.description));
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

std::vector<Error> step_faults(const Manifest& manifest) {
  std::vector<Error> faults;
  const bool has_any = std::any_of(manifest.inputs.begin(), manifest.inputs.end(), has_steps) ||
                       std::any_of(manifest.outputs.begin(), manifest.outputs.end(), has_steps);
  if (!has_any) return faults;
  const bool has_windows = check_inputs(manifest, &faults);
  const bool knows_inputs = faults.empty();
  for (size_t i = 0; i < manifest.outputs.size(); ++i) {
    const Tensor& tensor = manifest.outputs[i];
    const std::string field = field_of("outputs", i);
    if (!has_steps(tensor)) continue;
    // The steps of an output get windows if an input makes windows.
    if (!knows_inputs || !has_files(tensor) || !is_told(manifest, field, tensor)) {
      check_steps(manifest, field, tensor, &faults);
      continue;
    }
    const auto output = describe_output(manifest, i, has_windows);
    if (!output.ok()) faults.push_back(output.error());
  }
  return faults;
}

}  // namespace xsp::predict

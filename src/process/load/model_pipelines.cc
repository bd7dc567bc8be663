#include "process/load/model_pipelines.h"

#include <algorithm>

#include "xsp/xsp.h"

namespace xsp::process {
namespace {

using pipelines::Pipeline;

std::vector<uint32_t> sites_of(const Pipeline& pipeline) {
  std::vector<uint32_t> sites;
  for (const std::string& name : pipeline.step_names()) {
    sites.push_back(xsp_intern_site(XSP_LEVEL_APPLICATION, name.c_str(), kStepType));
  }
  return sites;
}

// Returns the dimensions of the tensor without the batch.
std::vector<int64_t> without_batch(std::vector<int64_t> dimensions, int axis) {
  if (axis >= 0 && axis < static_cast<int>(dimensions.size())) {
    dimensions.erase(dimensions.begin() + axis);
  }
  return dimensions;
}

bool is_windowed(const ModelPipelines::Side& side) {
  return side.pipeline.result().kind == pipelines::Kind::kWindows;
}

Result<size_t> position_of(const pipelines::TensorDescription& tensor,
                           const std::vector<TensorSpec>& specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == tensor.name) return i;
  }
  return usage(tensor.place + ": the model has no '" + tensor.name + "': it has " +
               signature_text(specs));
}

Result<ModelPipelines::Side> input_side(const pipelines::TensorDescription& input,
                                        const std::vector<TensorSpec>& specs) {
  XSP_TRY(const size_t position, position_of(input, specs));
  XSP_TRY(const pipelines::Type given, pipelines::type_of_request(input));
  XSP_TRY(Pipeline pipeline, Pipeline::make(input, given));
  XSP_CHECK_OK(check_tensor(pipeline, specs[position].dtype,
                            without_batch(specs[position].dimensions, input.batch_axis)));
  std::vector<uint32_t> sites = sites_of(pipeline);
  return ModelPipelines::Side{
      std::move(pipeline), input.batch_axis, position, {}, std::move(sites)};
}

// Finds the output that is the state's next value, and checks that it can be that.
Status connect_state(const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs,
                     ModelPipelines::Side* side) {
  const std::string& name = side->pipeline.result().state_of;
  if (name.empty()) return Ok{};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name != name) continue;
    const TensorSpec& input = inputs[side->tensor];
    if (outputs[i].dtype != input.dtype ||
        !pipelines::fits(outputs[i].dimensions, input.dimensions)) {
      return usage(side->pipeline.place() + ": the output '" + name +
                   "' cannot be its next value: their types differ: " + signature_text(outputs));
    }
    side->state_of = i;
    return Ok{};
  }
  return usage(side->pipeline.place() + ": the model has no output '" + name + "': it has " +
               signature_text(outputs));
}

Result<ModelPipelines::Side> output_side(const pipelines::TensorDescription& output,
                                         const std::vector<TensorSpec>& specs, bool has_windows) {
  XSP_TRY(const size_t position, position_of(output, specs));
  const TensorSpec& spec = specs[position];
  std::vector<int64_t> dimensions = without_batch(spec.dimensions, output.batch_axis);
  const pipelines::Type given = has_windows
                                    ? pipelines::windows_type(spec.dtype, std::move(dimensions))
                                    : pipelines::tensor_type(spec.dtype, std::move(dimensions));
  XSP_TRY(Pipeline pipeline, Pipeline::make(output, given));
  std::vector<uint32_t> sites = sites_of(pipeline);
  return ModelPipelines::Side{
      std::move(pipeline), output.batch_axis, position, {}, std::move(sites)};
}

}  // namespace

Result<ModelPipelines> make_pipelines(const pipelines::Description& description,
                                      const std::vector<TensorSpec>& inputs,
                                      const std::vector<TensorSpec>& outputs) {
  ModelPipelines result;
  for (const auto& input : description.inputs) {
    XSP_TRY(ModelPipelines::Side side, input_side(input, inputs));
    XSP_CHECK_OK(connect_state(inputs, outputs, &side));
    result.has_windows |= is_windowed(side);
    result.inputs.push_back(std::move(side));
  }
  for (const auto& output : description.outputs) {
    XSP_TRY(result.outputs.emplace_back(), output_side(output, outputs, result.has_windows));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto is_it = [i](const ModelPipelines::Side& side) { return side.tensor == i; };
    if (std::any_of(result.inputs.begin(), result.inputs.end(), is_it)) continue;
    return usage("the manifest says nothing of the model's input '" + inputs[i].name +
                 "': describe it under 'inputs'");
  }
  return result;
}

}  // namespace xsp::process

// Inputs that are made up, where the steps of a pipeline say more about them than the model does.
#include "process/load/pipeline_server.h"

namespace xsp::process {

using pipelines::Value;

void suit_specs(const ModelPipelines& pipelines, std::vector<TensorSpec>* specs) {
  for (const ModelPipelines::Side& side : pipelines.inputs) {
    std::vector<int64_t>& dimensions = (*specs)[side.tensor].dimensions;
    const std::vector<int64_t> made = dimensions_of_window(side.pipeline.result());
    for (size_t i = 0, next = 0; i < dimensions.size() && next < made.size(); ++i) {
      if (static_cast<int>(i) == side.batch_axis) continue;
      if (dimensions[i] < 0) dimensions[i] = made[next];
      ++next;
    }
  }
}

Status suit_tensors(const ModelPipelines& pipelines, Inputs* inputs) {
  for (const ModelPipelines::Side& side : pipelines.inputs) {
    Tensor tensor = inputs->tensors[side.tensor];
    if (side.pipeline.given().kind != pipelines::Kind::kNothing || tensor.is_given) continue;
    XSP_TRY(Value value, side.pipeline.run({}, {}));
    const auto axis = static_cast<size_t>(side.batch_axis);
    const bool has_batch = side.batch_axis >= 0 && axis < tensor.dimensions.size();
    const auto batch = has_batch ? static_cast<size_t>(tensor.dimensions[axis]) : 1;
    XSP_TRY(Value joined, join_batch(std::vector<Value>(batch, value), side.batch_axis));
    tensor.dimensions = std::move(joined.type.dimensions);
    tensor.data = std::move(joined.data);
    tensor.values = "by the steps of the manifest";
    set_values(std::move(tensor), side.tensor, inputs);
  }
  return Ok{};
}

}  // namespace xsp::process

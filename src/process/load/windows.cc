// A request that has windows: the model runs once for each of them.
#include "process/load/pipeline_server.h"
#include "xsp/xsp.h"

namespace xsp::process {

using pipelines::Value;

Status PipelineServer::prepare_windows(std::vector<Value> inputs) {
  inputs_ = std::move(inputs);
  sources_[0] = inputs_[0].source;
  outputs_.assign(pipelines_.outputs.size(), {});
  windows_ = 0;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    if (inputs_[k].type.kind != pipelines::Kind::kWindows) continue;
    const auto count = static_cast<size_t>(inputs_[k].type.dimensions[0]);
    if (windows_ > 0 && count != windows_) {
      return usage(pipelines_.inputs[k].pipeline.place() + ": its steps give " +
                   std::to_string(count) + " windows, those of another input " +
                   std::to_string(windows_) + ": give them the same size and hop");
    }
    windows_ = count;
  }
  const int64_t start_ns = xsp_now_ns();
  XSP_CHECK_OK(set_window(0, {}));
  steps_[0].push_back({set_site_, start_ns, xsp_now_ns()});
  return Ok{};
}

Status PipelineServer::set_window(size_t window, std::vector<Tensor> before) {
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const ModelPipelines::Side& side = pipelines_.inputs[k];
    const bool is_windowed = inputs_[k].type.kind == pipelines::Kind::kWindows;
    XSP_TRY(Tensor tensor,
            tensor_of(side, {is_windowed ? window_of(inputs_[k], window) : inputs_[k]}));
    if (side.state_of && *side.state_of < before.size()) {
      Tensor& next = before[*side.state_of];
      if (next.dimensions != tensor.dimensions) {
        return usage(side.pipeline.place() + ": the output '" + next.name + "' is " +
                     pipelines::dimensions_text(next.dimensions) + ", the state is " +
                     pipelines::dimensions_text(tensor.dimensions) + ": change its dimensions");
      }
      tensor.data = std::move(next.data);
    }
    tensors.push_back(std::move(tensor));
  }
  return model_.set(tensors);
}

Status PipelineServer::run_windows(int64_t request) {
  std::vector<Tensor> results;
  for (size_t window = 0; window < windows_; ++window) {
    const int64_t start_ns = xsp_now_ns();
    if (window > 0) XSP_CHECK_OK(set_window(window, std::move(results)));
    XSP_CHECK_OK(model_.run(1, request));
    XSP_TRY(results, model_.results());
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const ModelPipelines::Side& side = pipelines_.outputs[k];
      if (side.tensor >= results.size()) return failed("the model gave too few outputs");
      auto part = part_of_batch(results[side.tensor], side.batch_axis, 1, 0);
      if (!part.ok()) return usage(side.pipeline.place() + ": " + part.error().text);
      Value& all = outputs_[k];
      if (window == 0) {
        all.type = pipelines::windows_type(part->type.dtype, part->type.dimensions);
        all.type.dimensions[0] = static_cast<int64_t>(windows_);
      } else if (part->type.dimensions != dimensions_of_window(all.type)) {
        return usage(side.pipeline.place() + ": windows give " +
                     pipelines::dimensions_text(dimensions_of_window(all.type)) + " and " +
                     pipelines::dimensions_text(part->type.dimensions) +
                     ": an answer cannot be made of them");
      }
      all.data.insert(all.data.end(), part->data.begin(), part->data.end());
    }
    steps_[0].push_back({window_site_, start_ns, xsp_now_ns()});
  }
  return Ok{};
}

}  // namespace xsp::process

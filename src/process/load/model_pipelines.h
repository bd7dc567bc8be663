// ModelPipelines: the pipelines of a model, checked against the model's own tensors.
#ifndef XSP_PROCESS_LOAD_MODEL_PIPELINES_H_
#define XSP_PROCESS_LOAD_MODEL_PIPELINES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pipelines/shared/pipeline.h"
#include "process/worker/inputs.h"
#include "shared/base/result.h"

namespace xsp::process {

// The type of the spans of steps.
inline constexpr const char* kStepType = "pipeline step";

struct ModelPipelines {
  struct Side {
    pipelines::Pipeline pipeline;
    int batch_axis = 0;              // -1: none
    size_t tensor = 0;               // position among the model's inputs or outputs
    std::optional<size_t> state_of;  // of an input: the output that takes its place in a window
    std::vector<uint32_t> step_sites;
  };
  std::vector<Side> inputs;   // in the model's order
  std::vector<Side> outputs;  // in the description's order
  bool has_windows = false;
};
// Errors name the manifest, its line and the step.
Result<ModelPipelines> make_pipelines(const pipelines::Description& description,
                                      const std::vector<TensorSpec>& inputs,
                                      const std::vector<TensorSpec>& outputs);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_MODEL_PIPELINES_H_

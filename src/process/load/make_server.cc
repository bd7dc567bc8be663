#include "process/load/make_server.h"

#include "process/load/generation_server.h"
#include "process/load/made_up_server.h"

namespace xsp::process {

Result<std::unique_ptr<Server>> make_server(OpenModel& model, const LoadSettings& settings,
                                            const std::vector<TensorSpec>& inputs,
                                            const std::vector<TensorSpec>& outputs,
                                            const WorkerOptions& options,
                                            const std::optional<ModelPipelines>& pipelines) {
  if (!settings.lengths.empty()) {
    XSP_TRY(auto server,
            GenerationServer::make(model, inputs, outputs, settings.lengths, settings.tokens));
    return std::unique_ptr<Server>(std::move(server));
  }
  if (settings.items.empty()) {
    return std::unique_ptr<Server>(std::make_unique<MadeUpServer>(model, inputs, outputs, options));
  }
  if (!pipelines) return usage("items: there is no pipeline: give the worker --pipeline");
  XSP_TRY(auto server, PipelineServer::make(model, *pipelines, settings.items, settings.outputs));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace xsp::process

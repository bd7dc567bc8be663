#include "process/load/make_server.h"

#include <filesystem>
#include <fstream>

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

LoadSettings settings_of_instance(LoadSettings settings, size_t instance) {
  if (instance > 0 && !settings.outputs.empty()) {
    settings.outputs += "." + std::to_string(instance);
  }
  return settings;
}

Status join_outputs(const LoadSettings& settings) {
  if (settings.outputs.empty() || settings.instances == 1) return Ok{};
  std::ofstream all(settings.outputs, std::ios::binary | std::ios::app);
  for (size_t i = 1; i < settings.instances; ++i) {
    const std::string path = settings_of_instance(settings, i).outputs;
    std::ifstream part(path, std::ios::binary);
    // An empty file would set the stream's failure.
    if (part.peek() != std::ifstream::traits_type::eof()) all << part.rdbuf();
    std::error_code error;
    std::filesystem::remove(path, error);
  }
  all.close();
  if (all) return Ok{};
  return failed(settings.outputs + ": cannot be written: make room for it");
}

}  // namespace xsp::process

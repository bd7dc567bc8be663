#include "process/load/item_inputs.h"

#include "process/worker/inputs.h"
#include "process/worker/tensor_files.h"

namespace xsp::process {
namespace {

// Remembers each set of inputs that the model gets.
class RememberingModel : public OpenModel {
 public:
  explicit RememberingModel(OpenModel& model) : model_(model) {}
  Status set(const std::vector<Tensor>& inputs) override {
    sets.push_back(inputs);
    return model_.set(inputs);
  }
  Status run(size_t batch, int64_t request) override { return model_.run(batch, request); }
  Result<std::vector<Tensor>> results() override { return model_.results(); }

  std::vector<std::vector<Tensor>> sets;

 private:
  OpenModel& model_;
};

}  // namespace

Result<std::vector<std::string>> write_inputs_of_items(OpenModel& model,
                                                       const ModelPipelines& pipelines,
                                                       const std::string& items,
                                                       const std::filesystem::path& folder) {
  RememberingModel remembering(model);
  XSP_TRY(const auto server, PipelineServer::make(remembering, pipelines, items, "/dev/null"));
  std::vector<LoadRequest> batch(server->item_count());
  for (size_t i = 0; i < batch.size(); ++i) batch[i].id = batch[i].item = i;
  XSP_CHECK_OK(server->prepare(batch));
  if (pipelines.has_windows) XSP_CHECK_OK(server->run(batch));
  std::vector<std::string> names;
  for (size_t set = 0; set < remembering.sets.size(); ++set) {
    std::vector<Tensor> ordered(pipelines.inputs.size());
    for (size_t i = 0; i < ordered.size(); ++i) {
      ordered[pipelines.inputs[i].tensor] = std::move(remembering.sets[set][i]);
    }
    const std::string name = std::to_string(set);
    std::error_code error;
    std::filesystem::create_directories(folder / name, error);
    const std::vector<xsp_tensor> views = views_of(ordered);
    XSP_TRY(const auto files, write_tensors(folder / name, views.data(), views.size()));
    for (const std::string& file : files) names.push_back(name + '/' + file);
  }
  return names;
}

}  // namespace xsp::process

// PipelineServer: answers requests with the items of a data set. The steps of a pipeline make the
// model's inputs of an item, and an answer of the model's outputs.
//
// If an input's steps give windows, the model runs once for each window of a request, in order; the
// answer is made of the outputs of all windows. A state then goes from one window to the next, and
// such requests are answered one by one.
#ifndef XSP_PROCESS_LOAD_PIPELINE_SERVER_H_
#define XSP_PROCESS_LOAD_PIPELINE_SERVER_H_

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipelines/shared/pipeline.h"
#include "process/load/model_pipelines.h"
#include "process/load/open_model.h"
#include "process/load/serve.h"
#include "process/worker/inputs.h"
#include "shared/base/result.h"

namespace xsp::process {

// Reads the description's file. Errors name the manifest, its line and the step.
Result<ModelPipelines> read_pipelines(const std::string& file,
                                      const std::vector<TensorSpec>& inputs,
                                      const std::vector<TensorSpec>& outputs);

// Make inputs that are made up like those that the pipelines make: the dimensions that the model
// leaves open are those of the steps' results, and an input that needs nothing of a request gets
// what its steps give. The user's own values stay.
void suit_specs(const ModelPipelines& pipelines, std::vector<TensorSpec>* specs);
Status suit_tensors(const ModelPipelines& pipelines, Inputs* inputs);

class PipelineServer : public Server {
 public:
  // `items` has the path of an item in each line; a request gets the item that it names, and the
  // first one follows the last. `outputs` gets a line for each answer (pipeline_file.h).
  static Result<std::unique_ptr<PipelineServer>> make(OpenModel& model,
                                                      const ModelPipelines& pipelines,
                                                      const std::string& items,
                                                      const std::string& outputs);
  size_t item_count() const { return items_.size(); }
  Status prepare(std::span<const LoadRequest> batch) override;
  Status run(std::span<const LoadRequest> batch) override;
  bool has_output() const override { return true; }
  Status finish(std::span<const LoadRequest> batch) override;
  std::span<const std::vector<StepTime>> steps() const override { return steps_; }
  std::span<const std::string> answers() const override { return answers_; }
  Status close() override;

 private:
  PipelineServer(OpenModel& model, const ModelPipelines& pipelines);
  const std::string& item_of(const LoadRequest& request) const;
  Result<pipelines::Value> read(const std::string& path, std::vector<StepTime>* steps) const;
  // Runs the steps; the error names the item.
  Result<pipelines::Value> run_steps(const ModelPipelines::Side& side, pipelines::Value value,
                                     const std::string& item, std::vector<StepTime>* steps) const;
  // Makes the inputs of one request, in the model's order.
  Result<std::vector<pipelines::Value>> inputs_of(const std::string& item,
                                                  std::vector<StepTime>* steps) const;

  Result<Tensor> tensor_of(const ModelPipelines::Side& side,
                           const std::vector<pipelines::Value>& values) const;
  // The three parts of answering a request that has windows.
  Status prepare_windows(std::vector<pipelines::Value> inputs);
  // Sets the inputs of a window. `before` has the outputs of the window before it; none: it is the
  // first one.
  Status set_window(size_t window, std::vector<Tensor> before);
  Status run_windows(int64_t request);
  // `place` is that of the request in its batch.
  Status write_answer(size_t output, const LoadRequest& request, size_t place,
                      pipelines::Value value);

  OpenModel& model_;
  const ModelPipelines& pipelines_;
  std::vector<std::string> items_;
  std::string path_;
  std::ofstream file_;
  uint32_t read_site_ = 0, set_site_ = 0, window_site_ = 0;
  std::vector<std::vector<StepTime>> steps_;
  std::vector<std::string> answers_;
  std::vector<pipelines::Source> sources_;  // of each request's first input
  std::vector<pipelines::Value> inputs_;    // of the request that has windows
  std::vector<pipelines::Value> outputs_;   // of all its windows, as the description orders them
  size_t windows_ = 0;
};

// Joins the values of a batch's requests into one tensor, whose dimension at `axis` is the batch;
// -1: the value of the first request stands for all. Fails if their types differ.
Result<pipelines::Value> join_batch(const std::vector<pipelines::Value>& values, int axis);
// Returns one window of a value that consists of windows, as a tensor.
pipelines::Value window_of(const pipelines::Value& value, size_t window);
// Returns one request's part of an output.
Result<pipelines::Value> part_of_batch(const Tensor& tensor, int axis, size_t batch,
                                       size_t position);

}  // namespace xsp::process

#endif  // XSP_PROCESS_LOAD_PIPELINE_SERVER_H_

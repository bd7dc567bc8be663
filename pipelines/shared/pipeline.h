// A pipeline: the checked steps of one input or output of a model.
//
// An input's steps turn one request into the model's tensor without its batch dimension, so that
// requests can be joined; an output's steps get one request's part of the tensor.
#ifndef XSP_PIPELINES_SHARED_PIPELINE_H_
#define XSP_PIPELINES_SHARED_PIPELINE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pipelines/shared/step.h"
#include "shared/base/result.h"

namespace xsp::pipelines {

// A step as a manifest describes it. `place` is "magika.yaml:14: inputs[0].steps[2]".
struct StepDescription {
  std::string place;
  std::string name;
  std::map<std::string, std::string> params;
};

// An input or output of a model.
struct TensorDescription {
  std::string place;  // "magika.yaml:12: inputs[0]"
  std::string name;
  std::string from;    // of an input: what a request gives: bytes, image, table, text, ...
  int batch_axis = 0;  // position of the batch dimension; -1: it has none
  std::vector<StepDescription> steps;
};

struct Description {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
};

class Pipeline {
 public:
  // Makes the steps, and checks that each takes what the one before it gives. An error begins with
  // the place of the step.
  static Result<Pipeline> make(const TensorDescription& description, const Type& given);

  const std::string& name() const { return name_; }  // the tensor's
  const std::string& place() const { return place_; }
  const Type& given() const { return given_; }
  const Type& result() const { return result_; }
  const std::vector<std::string>& step_names() const { return names_; }

  // Is called after each step with its number.
  using OnStep = std::function<void(size_t step)>;
  // Runs all steps. The error begins with the place of the step that fails.
  Result<Value> run(Value value, const OnStep& on_step) const;

 private:
  std::string name_, place_;
  Type given_, result_;
  std::vector<std::string> names_, places_;
  std::vector<std::shared_ptr<Step>> steps_;
};

// Fails if there is no such step; with `has_all_parameters`, also if it refuses one of them.
Status check_step(const StepDescription& step, bool has_all_parameters);
// Returns the type of what a request gives to an input.
Result<Type> type_of_request(const TensorDescription& input);
// Fails unless the pipeline's result can be the model's tensor without its batch dimension.
Status check_tensor(const Pipeline& pipeline, uint32_t dtype,
                    const std::vector<int64_t>& dimensions);

}  // namespace xsp::pipelines

#endif  // XSP_PIPELINES_SHARED_PIPELINE_H_

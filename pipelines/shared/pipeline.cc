#include "pipelines/shared/pipeline.h"

#include <algorithm>

#include "shared/base/nearest.h"

namespace xsp::pipelines {
namespace {

Result<StepKind> kind_of(const StepDescription& step) {
  std::vector<std::string> names;
  for (StepKind& kind : all_steps()) {
    if (kind.name == step.name) return std::move(kind);
    names.push_back(kind.name);
  }
  return usage(step.place + ": '" + step.name +
               "' is no step: " + did_you_mean(step.name, names, "see 'xsp predict --steps'"));
}

Result<std::shared_ptr<Step>> make_step(const StepDescription& step) {
  XSP_TRY(const StepKind kind, kind_of(step));
  Parameters parameters(step.params);
  std::shared_ptr<Step> made = kind.make(parameters);
  const Status status = parameters.check();
  if (!status.ok()) return usage(step.place + ": " + step.name + ": " + status.error().text);
  return made;
}

}  // namespace

Status check_step(const StepDescription& step, bool has_all_parameters) {
  if (has_all_parameters) {
    const auto made = make_step(step);
    return made.ok() ? Status(Ok{}) : Status(made.error());
  }
  const auto kind = kind_of(step);
  return kind.ok() ? Status(Ok{}) : Status(kind.error());
}

Result<Pipeline> Pipeline::make(const TensorDescription& description, const Type& given) {
  Pipeline pipeline;
  pipeline.name_ = description.name;
  pipeline.place_ = description.place;
  pipeline.given_ = given;
  pipeline.result_ = given;
  std::string giver = description.from.empty() ? "the model" : "the request";
  for (const StepDescription& step : description.steps) {
    XSP_TRY(std::shared_ptr<Step> made, make_step(step));
    Result<Type> result = made->accept(pipeline.result_);
    if (!result.ok()) {
      return usage(step.place + ": " + giver + " gives " + type_text(pipeline.result_) + ", " +
                   step.name + " wants " + result.error().text);
    }
    pipeline.result_ = std::move(*result);
    pipeline.steps_.push_back(std::move(made));
    pipeline.names_.push_back(step.name);
    pipeline.places_.push_back(step.place);
    giver = step.name;
  }
  return pipeline;
}

Result<Value> Pipeline::run(Value value, const OnStep& on_step) const {
  Source source = value.source;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Result<Value> result = steps_[i]->run(std::move(value));
    if (!result.ok()) {
      return Error{result.error().code, places_[i] + ": " + names_[i] + ": " + result.error().text};
    }
    value = std::move(*result);
    const std::vector<int64_t>& sides = value.type.dimensions;
    if (value.type.kind == Kind::kImage && source.height == 0) {
      source.height = sides[0];
      source.width = sides[1];
    } else if (value.type.kind == Kind::kAudio) {
      source.samples = sides[0];
      source.rate = value.type.rate;
    }
    value.source = source;
    if (on_step) on_step(i);
  }
  return value;
}

Result<Type> type_of_request(const TensorDescription& input) {
  if (input.steps.empty()) {
    return usage(input.place + ": it has no steps: say how a request becomes '" + input.name + "'");
  }
  for (const char* of_file : {"bytes", "image", "audio", "table"}) {
    if (input.from == of_file) return bytes_type();
  }
  if (input.from == "text") return Type{Kind::kText, 0, {}, "", ""};
  if (input.from == "tensor") return Type{Kind::kNothing, 0, {}, "", ""};
  if (!input.from.empty()) {
    return usage(input.place + ": from '" + input.from +
                 "' is unknown: use bytes, image, audio, table, text or tensor");
  }
  return usage(input.place + ": 'from' is missing: say what a request gives, such as from: bytes");
}

Status check_tensor(const Pipeline& pipeline, uint32_t dtype,
                    const std::vector<int64_t>& dimensions) {
  const Type& result = pipeline.result();
  if (result.dtype == dtype && fits(dimensions_of_window(result), dimensions) &&
      (result.kind == Kind::kTensor || result.kind == Kind::kImage ||
       result.kind == Kind::kWindows)) {
    return Ok{};
  }
  return usage(pipeline.place() + ": its steps give " + type_text(result) + ", the model wants " +
               type_text(tensor_type(dtype, dimensions)) + " for each request: " +
               (result.dtype == dtype
                    ? "change the dimensions"
                    : std::string("add 'cast: {to: ") + dtype_name(dtype) + "}'"));
}

}  // namespace xsp::pipelines

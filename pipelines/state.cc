// A state of the model: zeros for the first window of a request, and then what the model gave.
#include <cmath>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr double kDimensionMax = 1 << 24;

class State : public Step {
 public:
  explicit State(Parameters& parameters) {
    std::vector<int64_t> dimensions;
    for (const double number : parameters.numbers("dimensions", {})) {
      if (!(number >= 1 && number <= kDimensionMax && number == std::trunc(number))) {
        parameters.refuse("dimensions", "not whole numbers from 1: write such as [2, 128]");
        break;
      }
      dimensions.push_back(static_cast<int64_t>(number));
    }
    type_ = tensor_type(XSP_FLOAT32, std::move(dimensions));
    type_.state_of = parameters.text("of");
    if (element_count(type_.dimensions) < 0) parameters.refuse("dimensions", "too large");
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kNothing) return usage("nothing: make it the only step, from: tensor");
    return type_;
  }

  Result<Value> run(Value) override { return zeros(type_); }

 private:
  Type type_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<State>(parameters); }

}  // namespace

StepKind state_step() {
  return {"state", "Zeros of float32 for the first window, and then what the model gave.",
          "of: the output that takes its place in the next window; dimensions: without the batch",
          make};
}

}  // namespace xsp::pipelines

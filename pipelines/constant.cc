// A number that is the same for each request.
#include <cmath>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

class Constant : public Step {
 public:
  explicit Constant(Parameters& parameters)
      : number_(parameters.number("value")),
        is_integer_(parameters.word("dtype", {"float32", "int64"}, "float32") == "int64") {
    if (is_integer_ && (number_ != std::trunc(number_) || std::abs(number_) > 0x1p53)) {
      parameters.refuse("value", "no whole number: write one, or dtype: float32");
    }
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kNothing) return usage("nothing: make it the only step, from: tensor");
    return tensor_type(is_integer_ ? XSP_INT64 : XSP_FLOAT32, {});
  }

  Result<Value> run(Value) override {
    Value value = zeros(tensor_type(is_integer_ ? XSP_INT64 : XSP_FLOAT32, {}));
    if (is_integer_) {
      value.as<int64_t>()[0] = static_cast<int64_t>(number_);
    } else {
      value.as<float>()[0] = static_cast<float>(number_);
    }
    return value;
  }

 private:
  const double number_;
  const bool is_integer_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<Constant>(parameters);
}

}  // namespace

StepKind constant_step() {
  return {"constant", "A number that is the same for each request.",
          "value: the number; dtype: float32 or int64, else float32", make};
}

}  // namespace xsp::pipelines

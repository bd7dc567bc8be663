// Probabilities out of scores: exp(x) / sum(exp(x)) over all elements, as float32.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

class Softmax : public Step {
 public:
  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kTensor) return usage("a tensor of scores");
    return tensor_type(XSP_FLOAT32, given.dimensions);
  }

  Result<Value> run(Value value) override {
    Value result = zeros(tensor_type(XSP_FLOAT32, value.type.dimensions));
    const auto elements = result.as<float>();
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < elements.size(); ++i) most = std::max(most, number_at(value, i));
    std::vector<double> powers(elements.size());
    for (size_t i = 0; i < elements.size(); ++i) {
      powers[i] = std::exp(number_at(value, i) - most);
      sum += powers[i];
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = static_cast<float>(powers[i] / sum);
    }
    return result;
  }
};

std::unique_ptr<Step> make(Parameters&) { return std::make_unique<Softmax>(); }

}  // namespace

StepKind softmax_step() {
  return {"softmax", "Probabilities out of an output's scores.", "", make};
}

}  // namespace xsp::pipelines

// Numbers of the type float32, shifted and scaled: (x / scale - mean) / std. `mean` and `std` are
// one number, or one for each channel of an image.
#include <algorithm>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

class Normalise : public Step {
 public:
  explicit Normalise(Parameters& parameters)
      : scale_(parameters.number("scale", 1)),
        mean_(parameters.numbers("mean", {0})),
        std_(parameters.numbers("std", {1})) {
    if (scale_ == 0) parameters.refuse("scale", "zero: write the number to divide by");
    if (std::count(std_.begin(), std_.end(), 0.0) > 0) {
      parameters.refuse("std", "zero: write the number to divide by");
    }
  }

  Result<Type> accept(const Type& given) override {
    const bool is_image = given.kind == Kind::kImage;
    if (!is_image && given.kind != Kind::kTensor) {
      return usage("an image or a tensor: put 'decode' or 'cast' before it");
    }
    const int64_t channels = channels_of(given).second;
    for (const auto* list : {&mean_, &std_}) {
      if (list->size() == 1 || channels == static_cast<int64_t>(list->size())) continue;
      return usage("an image of " + std::to_string(list->size()) +
                   " channels: give mean and std one number, or one for each channel");
    }
    Type type = given;
    type.dtype = XSP_FLOAT32;
    return type;
  }

  Result<Value> run(Value value) override {
    Type type = value.type;
    type.dtype = XSP_FLOAT32;
    const auto [inner, channels] = channels_of(type);
    Value result = zeros(type);
    const auto elements = result.as<float>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const size_t channel = i / static_cast<size_t>(inner) % static_cast<size_t>(channels);
      const double mean = mean_[mean_.size() == 1 ? 0 : channel];
      const double std = std_[std_.size() == 1 ? 0 : channel];
      elements[i] = static_cast<float>((number_at(value, i) / scale_ - mean) / std);
    }
    return result;
  }

 private:
  // Returns the number of elements between two channels of an image, and that of its channels.
  static std::pair<int64_t, int64_t> channels_of(const Type& type) {
    if (type.layout == "HWC") return {1, type.dimensions[2]};
    if (type.layout != "CHW") return {1, 1};
    return {type.dimensions[1] * type.dimensions[2], type.dimensions[0]};
  }

  const double scale_;
  const std::vector<double> mean_, std_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<Normalise>(parameters);
}

}  // namespace

StepKind normalise_step() {
  return {"normalise", "(x / scale - mean) / std, as float32.",
          "scale; mean, std: one number, or one for each channel", make};
}

}  // namespace xsp::pipelines

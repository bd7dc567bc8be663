// The order of an image's colours: red, green and blue, or blue, green and red.
#include <utility>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

class ColourOrder : public Step {
 public:
  explicit ColourOrder(std::string to) : to_(std::move(to)) {}

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kImage || given.layout != "HWC" || given.dtype != XSP_UINT8 ||
        given.dimensions[2] != 3) {
      return usage("an image of three colours: put it behind decode");
    }
    Type type = given;
    type.colours = to_;
    return type;
  }

  Result<Value> run(Value value) override {
    if (value.type.colours == to_) return value;
    const auto numbers = value.as<uint8_t>();
    for (size_t i = 0; i + 2 < numbers.size(); i += 3) std::swap(numbers[i], numbers[i + 2]);
    value.type.colours = to_;
    return value;
  }

 private:
  const std::string to_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<ColourOrder>(parameters.word("to", {"rgb", "bgr"}));
}

}  // namespace

StepKind colour_order_step() {
  return {"colour_order", "The order of an image's colours.", "to: rgb or bgr", make};
}

}  // namespace xsp::pipelines

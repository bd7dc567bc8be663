// The order of an image's dimensions: NCHW has a plane for each channel, NHWC the channels of a
// pixel side by side. N is the batch, which a request does not have.
#include <cstring>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

class Layout : public Step {
 public:
  explicit Layout(const std::string& to) : to_(to == "NCHW" ? "CHW" : "HWC") {}

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kImage) return usage("an image: put it behind decode");
    return type_of(given);
  }

  Result<Value> run(Value value) override {
    if (value.type.layout == to_) return value;
    Value result = zeros(type_of(value.type));
    const auto& from = value.type.dimensions;
    const bool is_planes = to_ == "CHW";
    // An image is a matrix of pixels and channels, which is transposed.
    const auto rows = static_cast<size_t>(is_planes ? from[0] * from[1] : from[0]);
    const auto columns = static_cast<size_t>(is_planes ? from[2] : from[1] * from[2]);
    const size_t bytes = value.data.size() / (rows * columns);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        std::memcpy(&result.data[(column * rows + row) * bytes],
                    &value.data[(row * columns + column) * bytes], bytes);
      }
    }
    return result;
  }

 private:
  Type type_of(Type type) const {
    if (type.layout == to_) return type;
    const auto from = type.dimensions;
    type.dimensions = to_ == "CHW" ? std::vector<int64_t>{from[2], from[0], from[1]}
                                   : std::vector<int64_t>{from[1], from[2], from[0]};
    type.layout = to_;
    return type;
  }

  const std::string to_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<Layout>(parameters.word("to", {"NCHW", "NHWC"}));
}

}  // namespace

StepKind layout_step() {
  return {"layout", "The order of an image's dimensions.", "to: NCHW or NHWC", make};
}

}  // namespace xsp::pipelines

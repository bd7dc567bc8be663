// An image that is at least as large: new pixels are added on the right and below.
#include <algorithm>
#include <cstring>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kSideMax = 1 << 16;

class Pad : public Step {
 public:
  explicit Pad(Parameters& parameters)
      : height_(parameters.integer("height", 1, kSideMax, 0)),
        width_(parameters.integer("width", 1, kSideMax, 0)),
        value_(static_cast<float>(parameters.number("value", 0))) {
    if (height_ == 0 && width_ == 0) {
      parameters.refuse("width", "no size: give width, height or both");
    }
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kImage || given.layout != "CHW" || given.dtype != XSP_FLOAT32) {
      return usage("an image of float32 in planes: put it behind normalise and layout");
    }
    return padded(given);
  }

  Result<Value> run(Value value) override {
    const Type type = padded(value.type);
    if (type.dimensions == value.type.dimensions) return value;
    Value result = zeros(type);
    const auto from = value.as<float>();
    const auto to = result.as<float>();
    std::fill(to.begin(), to.end(), value_);
    const auto planes = static_cast<size_t>(type.dimensions[0]);
    const auto rows = static_cast<size_t>(value.type.dimensions[1]);
    const auto columns = static_cast<size_t>(value.type.dimensions[2]);
    const auto to_rows = static_cast<size_t>(type.dimensions[1]);
    const auto to_columns = static_cast<size_t>(type.dimensions[2]);
    for (size_t plane = 0; plane < planes; ++plane) {
      for (size_t row = 0; row < rows; ++row) {
        std::memcpy(&to[(plane * to_rows + row) * to_columns],
                    &from[(plane * rows + row) * columns], columns * sizeof(float));
      }
    }
    return result;
  }

 private:
  // A side that is not known yet may be longer than the least.
  Type padded(Type type) const {
    for (const auto& [side, least] : {std::pair{1, height_}, std::pair{2, width_}}) {
      int64_t& pixels = type.dimensions[static_cast<size_t>(side)];
      if (pixels != kUnknown) pixels = std::max(pixels, least);
    }
    return type;
  }

  const int64_t height_, width_;
  const float value_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Pad>(parameters); }

}  // namespace

StepKind pad_step() {
  return {"pad", "An image with new pixels on the right and below, where it is too small.",
          "width, height: the least, in pixels; value: of the new pixels, else 0", make};
}

}  // namespace xsp::pipelines

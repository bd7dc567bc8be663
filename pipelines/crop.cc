// The middle of an image. Half a pixel is rounded to the even one, as in torchvision's CenterCrop.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kSideMax = 1 << 16;

class Crop : public Step {
 public:
  explicit Crop(Parameters& parameters)
      : height_(parameters.integer("height", 1, kSideMax)),
        width_(parameters.integer("width", 1, kSideMax)) {}

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kImage || given.layout != "HWC" || given.dtype != XSP_UINT8) {
      return usage("an image of uint8: put it behind decode, and before normalise and layout");
    }
    if ((given.dimensions[0] >= 0 && given.dimensions[0] < height_) ||
        (given.dimensions[1] >= 0 && given.dimensions[1] < width_)) {
      return usage("an image that is at least as large: resize it to more, or crop it to less");
    }
    return type_of(given);
  }

  Result<Value> run(Value value) override {
    const int64_t height = value.type.dimensions[0], width = value.type.dimensions[1];
    if (height < height_ || width < width_) {
      return failed("the image has " + std::to_string(width) + " x " + std::to_string(height) +
                    " pixels, which is less than " + std::to_string(width_) + " x " +
                    std::to_string(height_) + ": resize it first");
    }
    Value result = zeros(type_of(value.type));
    const auto channels = static_cast<size_t>(value.type.dimensions[2]);
    const size_t row = static_cast<size_t>(width_) * channels;
    const size_t top = half(height - height_), left = half(width - width_);
    for (size_t y = 0; y < static_cast<size_t>(height_); ++y) {
      const auto from = value.as<uint8_t>().subspan(
          ((top + y) * static_cast<size_t>(width) + left) * channels, row);
      std::copy(from.begin(), from.end(),
                result.as<uint8_t>().begin() + static_cast<ptrdiff_t>(y * row));
    }
    return result;
  }

 private:
  static size_t half(int64_t pixels) {
    return static_cast<size_t>(std::nearbyint(static_cast<double>(pixels) / 2));
  }
  Type type_of(Type type) const {
    type.dimensions[0] = height_;
    type.dimensions[1] = width_;
    return type;
  }

  const int64_t height_, width_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Crop>(parameters); }

}  // namespace

StepKind crop_step() {
  return {"crop", "The middle of an image.", "height, width: in pixels", make};
}

}  // namespace xsp::pipelines

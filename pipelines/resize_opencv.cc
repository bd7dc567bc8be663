// An image of another size, bit for bit as OpenCV's cv::resize makes it of 8-bit images by
// INTER_LINEAR.
//
// A pixel of the result is a mean of the two by two pixels around its place, however far the image
// shrinks: pixels between are skipped. Weights are integers of 11 fractional bits, made of floats;
// products lose bits between the columns and the rows. An image that shrinks to its exact half is
// averaged instead.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kSideMax = 1 << 16;
constexpr float kOne = 2048;

// The two pixels that count for a pixel of the result, and their weights.
struct Pair {
  size_t first = 0, second = 0;
  int32_t first_weight = 0, second_weight = 0;
};

std::vector<Pair> pairs_of(int64_t from, int64_t to, bool clamps_weight) {
  const double scale = 1.0 / (static_cast<double>(to) / static_cast<double>(from));
  std::vector<Pair> pairs(static_cast<size_t>(to));
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto place = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    const auto below = static_cast<int64_t>(std::floor(place));
    float fraction = place - static_cast<float>(below);
    // Columns beyond the border get the border's pixel alone; rows weigh it twice.
    if (clamps_weight && (below < 0 || below >= from - 1)) fraction = 0;
    pairs[i].first = static_cast<size_t>(std::clamp<int64_t>(below, 0, from - 1));
    pairs[i].second = static_cast<size_t>(std::clamp<int64_t>(below + 1, 0, from - 1));
    pairs[i].first_weight = static_cast<int32_t>(std::nearbyint((1 - fraction) * kOne));
    pairs[i].second_weight = static_cast<int32_t>(std::nearbyint(fraction * kOne));
  }
  return pairs;
}

// Returns a row whose columns are resized, with 11 fractional bits.
void resize_row(std::span<const uint8_t> row, size_t channels, const std::vector<Pair>& columns,
                std::vector<int32_t>* result) {
  size_t at = 0;
  for (const Pair& pair : columns) {
    for (size_t c = 0; c < channels; ++c) {
      (*result)[at++] = row[pair.first * channels + c] * pair.first_weight +
                        row[pair.second * channels + c] * pair.second_weight;
    }
  }
}

void interpolate(const Value& from, Value* to) {
  const auto channels = static_cast<size_t>(from.type.dimensions[2]);
  const auto columns = pairs_of(from.type.dimensions[1], to->type.dimensions[1], true);
  const auto rows = pairs_of(from.type.dimensions[0], to->type.dimensions[0], false);
  const size_t row_size = static_cast<size_t>(from.type.dimensions[1]) * channels;
  const auto pixels = from.as<uint8_t>();
  const auto result = to->as<uint8_t>();
  std::vector<int32_t> upper(columns.size() * channels), lower(upper.size());
  size_t at = 0;
  for (const Pair& pair : rows) {
    resize_row(pixels.subspan(pair.first * row_size, row_size), channels, columns, &upper);
    resize_row(pixels.subspan(pair.second * row_size, row_size), channels, columns, &lower);
    for (size_t i = 0; i < upper.size(); ++i) {
      const int32_t sum = ((pair.first_weight * (upper[i] >> 4)) >> 16) +
                          ((pair.second_weight * (lower[i] >> 4)) >> 16);
      result[at++] = static_cast<uint8_t>(std::clamp((sum + 2) >> 2, 0, 255));
    }
  }
}

void halve(const Value& from, Value* to) {
  const auto channels = static_cast<size_t>(from.type.dimensions[2]);
  const size_t row_size = static_cast<size_t>(from.type.dimensions[1]) * channels;
  const auto pixels = from.as<uint8_t>();
  const auto result = to->as<uint8_t>();
  const auto height = static_cast<size_t>(to->type.dimensions[0]);
  const auto width = static_cast<size_t>(to->type.dimensions[1]);
  size_t at = 0;
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      for (size_t c = 0; c < channels; ++c) {
        const size_t corner = 2 * y * row_size + 2 * x * channels + c;
        const int sum = pixels[corner] + pixels[corner + channels] + pixels[corner + row_size] +
                        pixels[corner + row_size + channels];
        result[at++] = static_cast<uint8_t>((sum + 2) >> 2);
      }
    }
  }
}

class ResizeOpencv : public Step {
 public:
  explicit ResizeOpencv(Parameters& parameters)
      : height_(parameters.integer("height", 1, kSideMax, 0)),
        width_(parameters.integer("width", 1, kSideMax, 0)),
        width_max_(parameters.integer("width_max", 1, kSideMax, 0)),
        width_min_(parameters.integer("width_min", 1, kSideMax, 0)),
        short_min_(parameters.integer("short_min", 1, kSideMax, 0)),
        multiple_(parameters.integer("multiple", 1, kSideMax, 1)) {
    parameters.word("filter", {"bilinear"}, "bilinear");
    const int widths = (width_ > 0) + (width_max_ > 0) + (width_min_ > 0);
    if (short_min_ > 0 ? height_ > 0 || widths > 0 : height_ == 0 || widths != 1) {
      parameters.refuse("height",
                        "no size, or two: give short_min, or height and one of width, width_max "
                        "and width_min");
    }
    if (multiple_ > 1 && short_min_ == 0) {
      parameters.refuse("multiple", "only for short_min: leave it out");
    }
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kImage || given.layout != "HWC" || given.dtype != XSP_UINT8) {
      return usage("an image of uint8: put it behind decode, and before normalise and layout");
    }
    Type type = given;
    type.dimensions[0] = height_ > 0 ? height_ : kUnknown;
    type.dimensions[1] = width_ > 0 ? width_ : kUnknown;
    return type;
  }

  Result<Value> run(Value value) override {
    const int64_t height = value.type.dimensions[0], width = value.type.dimensions[1];
    Type type = value.type;
    type.dimensions[0] = height_;
    type.dimensions[1] = width_;
    if (short_min_ > 0) {
      const double ratio = std::max(
          1.0, static_cast<double>(short_min_) / static_cast<double>(std::min(height, width)));
      type.dimensions[0] = to_multiple(height, ratio);
      type.dimensions[1] = to_multiple(width, ratio);
    } else if (width_ == 0) {
      type.dimensions[1] = width_of(static_cast<double>(width) / static_cast<double>(height));
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      if (type.dimensions[side] < 1 || type.dimensions[side] > kSideMax) {
        return failed("the image would have " + std::to_string(type.dimensions[1]) + " x " +
                      std::to_string(type.dimensions[0]) + " pixels: leave it out");
      }
    }
    if (type.dimensions == value.type.dimensions) return value;
    Value result = zeros(type);
    if (2 * type.dimensions[0] == height && 2 * type.dimensions[1] == width) {
      halve(value, &result);
    } else {
      interpolate(value, &result);
    }
    return result;
  }

 private:
  // PaddleOCR cuts the side to a whole pixel, then rounds halves of a multiple to even ones.
  int64_t to_multiple(int64_t side, double ratio) const {
    const auto whole = static_cast<int64_t>(static_cast<double>(side) * ratio);
    if (multiple_ == 1) return whole;
    const double count = static_cast<double>(whole) / static_cast<double>(multiple_);
    return static_cast<int64_t>(std::nearbyint(count)) * multiple_;
  }
  // The image keeps its shape. A part of a pixel is a whole one, but not beyond the limit.
  int64_t width_of(double ratio) const {
    const double width = static_cast<double>(height_) * ratio;
    if (!(width < 2 * static_cast<double>(kSideMax))) return 2 * kSideMax;
    const int64_t limit =
        width_max_ > 0 ? width_max_ : std::max(width_min_, static_cast<int64_t>(width));
    return std::min(static_cast<int64_t>(std::ceil(width)), limit);
  }

  const int64_t height_, width_, width_max_, width_min_, short_min_, multiple_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<ResizeOpencv>(parameters);
}

}  // namespace

StepKind resize_opencv_step() {
  return {
      "resize_opencv", "An image of another size, as OpenCV makes it.",
      "height with width; or height with width_max or width_min: the shape is kept, a part of a "
      "pixel is a whole one up to that width; or short_min: the least of the shorter side, "
      "multiple: of both sides; filter: bilinear",
      make};
}

}  // namespace xsp::pipelines

// An image of another size, bit for bit as Pillow's Image.resize makes it of 8-bit images.
//
// Each pixel of the result is a weighted mean of the pixels around its place. When an image
// shrinks, the filter is as much wider, so that every pixel counts (antialiasing). Columns are
// resized first, then rows; between the two, numbers are rounded to 8 bits. Weights are integers
// of 22 fractional bits.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kSideMax = 1 << 16;
constexpr int kFractionBits = 22;

struct Filter {
  const char* name;
  double support;  // it is zero beyond
  double (*weight)(double x);
};

double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }
double bilinear(double x) { return std::max(0.0, 1 - std::abs(x)); }
// The cubic convolution of R. G. Keys (IEEE ASSP 29, 1981) with a = -0.5.
double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}
double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}
double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

constexpr Filter kFilters[] = {
    {"bilinear", 1, bilinear}, {"bicubic", 2, bicubic}, {"box", 0.5, box}, {"lanczos", 3, lanczos}};

// The pixels that count for one pixel of the result.
struct Window {
  size_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Window> windows_of(const Filter& filter, int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(scale, 1.0);
  const double support = filter.support * width;
  std::vector<Window> windows(static_cast<size_t>(to));
  std::vector<double> weights;
  for (size_t i = 0; i < windows.size(); ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
    const auto last = std::min<int64_t>(from, static_cast<int64_t>(centre + support + 0.5));
    weights.clear();
    double sum = 0;
    for (int64_t x = first; x < last; ++x) {
      // Pillow multiplies by the reciprocal, which rounds differently from a division.
      weights.push_back(filter.weight((static_cast<double>(x) - centre + 0.5) * (1.0 / width)));
      sum += weights.back();
    }
    windows[i].first = static_cast<size_t>(first);
    for (double weight : weights) {
      if (sum != 0) weight /= sum;
      const double fixed = weight * (1 << kFractionBits);
      windows[i].weights.push_back(static_cast<int32_t>(fixed + (fixed < 0 ? -0.5 : 0.5)));
    }
  }
  return windows;
}

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

// Resizes one side of `outer` arrays of `from` elements, each of `inner` numbers.
std::vector<uint8_t> resized(std::span<const uint8_t> pixels, size_t outer, size_t from,
                             size_t inner, const std::vector<Window>& windows) {
  std::vector<uint8_t> result(outer * windows.size() * inner);
  size_t at = 0;
  for (size_t o = 0; o < outer; ++o) {
    for (const Window& window : windows) {
      const uint8_t* first = &pixels[(o * from + window.first) * inner];
      for (size_t i = 0; i < inner; ++i) {
        int32_t sum = 1 << (kFractionBits - 1);
        for (size_t k = 0; k < window.weights.size(); ++k) {
          sum += window.weights[k] * first[k * inner + i];
        }
        result[at++] = rounded(sum);
      }
    }
  }
  return result;
}

class ResizePillow : public Step {
 public:
  explicit ResizePillow(Parameters& parameters)
      : short_(parameters.integer("short", 0, kSideMax, 0)),
        height_(parameters.integer("height", 0, kSideMax, 0)),
        width_(parameters.integer("width", 0, kSideMax, 0)) {
    std::vector<std::string> names;
    for (const Filter& filter : kFilters) names.emplace_back(filter.name);
    const std::string name = parameters.word("filter", names);
    for (const Filter& filter : kFilters) {
      if (name == filter.name) filter_ = &filter;
    }
    const bool has_both = height_ > 0 && width_ > 0;
    if ((short_ > 0) == has_both) {
      parameters.refuse("short", "no size, or two: give short, or height and width");
    }
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kImage || given.layout != "HWC" || given.dtype != XSP_UINT8) {
      return usage("an image of uint8: put it behind decode, and before normalise and layout");
    }
    Type type = given;
    type.dimensions[0] = short_ > 0 ? kUnknown : height_;
    type.dimensions[1] = short_ > 0 ? kUnknown : width_;
    return type;
  }

  Result<Value> run(Value value) override {
    const int64_t height = value.type.dimensions[0], width = value.type.dimensions[1];
    int64_t to_height = height_, to_width = width_;
    if (short_ > 0) {
      // The longer side is cut to a whole pixel, as in torchvision.
      to_height = height <= width ? short_ : short_ * height / width;
      to_width = height <= width ? short_ * width / height : short_;
    }
    if (to_height > kSideMax || to_width > kSideMax) {
      return failed("the image would have " + std::to_string(to_width) + " x " +
                    std::to_string(to_height) + " pixels: too many");
    }
    const auto channels = static_cast<size_t>(value.type.dimensions[2]);
    const auto rows = static_cast<size_t>(height), columns = static_cast<size_t>(width);
    std::vector<uint8_t> pixels(value.as<uint8_t>().begin(), value.as<uint8_t>().end());
    if (to_width != width) {
      pixels = resized(pixels, rows, columns, channels, windows_of(*filter_, width, to_width));
    }
    if (to_height != height) {
      pixels = resized(pixels, 1, rows, static_cast<size_t>(to_width) * channels,
                       windows_of(*filter_, height, to_height));
    }
    Type type = value.type;
    type.dimensions[0] = to_height;
    type.dimensions[1] = to_width;
    Value result = zeros(type);
    std::memcpy(result.data.data(), pixels.data(), pixels.size());
    return result;
  }

 private:
  const int64_t short_, height_, width_;
  const Filter* filter_ = &kFilters[0];
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<ResizePillow>(parameters);
}

}  // namespace

StepKind resize_pillow_step() {
  return {
      "resize_pillow", "An image of another size, as Pillow makes it.",
      "short: of the shorter side, or height and width; filter: bilinear, bicubic, box, lanczos",
      make};
}

}  // namespace xsp::pipelines

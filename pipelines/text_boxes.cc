// The places of lines of text in a map of probabilities, as in Differentiable Binarization
// (M. Liao et al., AAAI 2020), with the rules of PaddleOCR, so that boxes are its boxes.
//
// Pixels beyond a threshold form regions, whose borders and whose holes' borders are surrounded by
// the smallest rectangle. It is dropped if it is small, or if the mean probability in it is. What
// is left grows by unclip * area / perimeter on each side, since the model is trained to tell
// shrunken regions, and is scaled to the image.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/quads.h"
#include "pipelines/shared/regions.h"
#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kMost = 1'000'000;
constexpr int64_t kSideMax = 1 << 16;
constexpr double kSideLeast = 3;       // of a box in the map, which grows by two at least
constexpr double kImageSideLeast = 3;  // boxes of the image are larger

// Returns the mean of the probabilities in a quadrangle, whose corners are cut to whole pixels.
double mean_in(const Mask& size, std::span<const float> probabilities, const Quad& quad) {
  double sum = 0;
  int64_t count = 0;
  for (const Run& run : rows_of(whole(quad), size.height, size.width)) {
    for (int64_t x = run.first; x <= run.last; ++x) {
      sum += static_cast<double>(probabilities[static_cast<size_t>(run.row * size.width + x)]);
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

class TextBoxes : public Step {
 public:
  explicit TextBoxes(Parameters& parameters)
      : threshold_(parameters.number("threshold", 0.3)),
        box_threshold_(parameters.number("box_threshold", 0.5)),
        unclip_(parameters.number("unclip", 1.6)),
        most_(parameters.integer("most", 1, kMost, 1000)),
        dilates_(parameters.truth("dilate", false)) {
    if (unclip_ < 0) parameters.refuse("unclip", "less than zero: write how far boxes grow");
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kTensor || given.dtype != XSP_FLOAT32 || given.dimensions.size() != 3 ||
        !fits({given.dimensions[0]}, {1})) {
      return usage("float32[1,height,width]: the probability of text in each pixel");
    }
    return Type{Kind::kQuads, XSP_FLOAT32, {kUnknown, 8}, "", ""};
  }

  Result<Value> run(Value value) override {
    const int64_t height = value.type.dimensions[1], width = value.type.dimensions[2];
    if (value.type.dimensions[0] != 1 || height < 1 || width < 1 || height > kSideMax ||
        width > kSideMax) {
      return failed("the map is " + dimensions_text(value.type.dimensions) +
                    ": it wants [1,height,width]");
    }
    const auto probabilities = std::as_const(value).as<float>();
    Mask mask{height, width, std::vector<uint8_t>(probabilities.size())};
    for (size_t i = 0; i < probabilities.size(); ++i) {
      mask.pixels[i] = static_cast<double>(probabilities[i]) > threshold_;
    }
    if (dilates_) mask = dilated(mask);
    std::vector<Quad> quads;
    std::vector<double> scores;
    for (const std::vector<Point>& border : borders_of(mask, static_cast<size_t>(most_))) {
      const Rectangle small = smallest_rectangle(border);
      if (small.least_side < kSideLeast) continue;
      const double score = mean_in(mask, probabilities, small.corners);
      if (score < box_threshold_) continue;
      const Rectangle large = smallest_rectangle(grown(small.corners, unclip_));
      if (large.least_side < kSideLeast + 2) continue;
      const Quad quad = in_image(large.corners, mask, value.source);
      if (side(quad[0], quad[1]) <= kImageSideLeast || side(quad[0], quad[3]) <= kImageSideLeast) {
        continue;
      }
      quads.push_back(quad);
      scores.push_back(score);
    }
    return value_of(quads, std::move(scores));
  }

 private:
  static double side(const Point& from, const Point& to) {
    return std::trunc(std::hypot(to.x - from.x, to.y - from.y));
  }

  // Scales the corners to the image, and orders them: top left, then clockwise.
  static Quad in_image(Quad quad, const Mask& map, const Source& image) {
    const double height = static_cast<double>(image.height > 0 ? image.height : map.height);
    const double width = static_cast<double>(image.height > 0 ? image.width : map.width);
    for (Point& corner : quad) {
      corner.x = std::nearbyint(corner.x / static_cast<double>(map.width) * width);
      corner.y = std::nearbyint(corner.y / static_cast<double>(map.height) * height);
      corner.x = std::clamp(corner.x, 0.0, width);
      corner.y = std::clamp(corner.y, 0.0, height);
    }
    const auto by_x = [](const Point& a, const Point& b) { return a.x < b.x; };
    const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
    std::stable_sort(quad.begin(), quad.end(), by_x);
    std::stable_sort(quad.begin(), quad.begin() + 2, by_y);
    std::stable_sort(quad.begin() + 2, quad.end(), by_y);
    quad = {quad[0], quad[2], quad[3], quad[1]};
    for (Point& corner : quad) {
      corner.x = std::min(corner.x, width - 1);
      corner.y = std::min(corner.y, height - 1);
    }
    return quad;
  }

  static Value value_of(const std::vector<Quad>& quads, std::vector<double> scores) {
    Value value =
        zeros({Kind::kQuads, XSP_FLOAT32, {static_cast<int64_t>(quads.size()), 8}, "", ""});
    const auto numbers = value.as<float>();
    size_t at = 0;
    for (const Quad& quad : quads) {
      for (const Point& corner : quad) {
        numbers[at++] = static_cast<float>(corner.x);
        numbers[at++] = static_cast<float>(corner.y);
      }
    }
    value.scores = std::move(scores);
    return value;
  }

  const double threshold_, box_threshold_, unclip_;
  const int64_t most_;
  const bool dilates_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<TextBoxes>(parameters);
}

}  // namespace

StepKind text_boxes_step() {
  return {
      "text_boxes", "The quadrangles of lines of text, in pixels of the image.",
      "threshold: of a pixel, else 0.3; box_threshold: of a box's mean, else 0.5; unclip: how far "
      "boxes grow, else 1.6; most: regions, else 1000; dilate: true or false",
      make};
}

}  // namespace xsp::pipelines

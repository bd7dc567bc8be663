#include "pipelines/shared/regions.h"

#include <array>
#include <utility>

namespace xsp::pipelines {
namespace {

// Left, right, above, below, then the corners.
constexpr std::array<std::pair<int, int>, 8> kNeighbours = {
    {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1}, {-1, 1}, {1, 1}}};
constexpr size_t kSides = 4;

// The mask with a frame of zeros, so that all outside is one region.
class Framed {
 public:
  explicit Framed(const Mask& mask)
      : width_(mask.width + 2),
        pixels_(static_cast<size_t>((mask.height + 2) * width_)),
        seen_(pixels_.size()) {
    for (int64_t y = 0; y < mask.height; ++y) {
      for (int64_t x = 0; x < mask.width; ++x) {
        pixels_[static_cast<size_t>((y + 1) * width_ + x + 1)] =
            mask.pixels[static_cast<size_t>(y * mask.width + x)];
      }
    }
  }

  size_t size() const { return pixels_.size(); }
  bool is_seen(size_t at) const { return seen_[at] != 0; }
  bool is_set(size_t at) const { return pixels_[at] != 0; }

  // Marks the region of a pixel as seen, and returns its border: of set pixels, those that touch
  // a zero by a side; of zeros, the set pixels that they touch by a side.
  std::vector<Point> border_from(size_t start) {
    const bool is_set_region = is_set(start);
    std::vector<size_t> open = {start};
    std::vector<Point> border;
    seen_[start] = 1;
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      bool is_border = false;
      for (size_t k = 0; k < (is_set_region ? kNeighbours.size() : kSides); ++k) {
        size_t next = 0;
        if (!neighbour(at, k, &next)) continue;
        if (is_set(next) != is_set_region) {
          is_border |= k < kSides;
          if (!is_set_region) border.push_back(point_at(next));
        } else if (seen_[next] == 0) {
          seen_[next] = 1;
          open.push_back(next);
        }
      }
      if (is_set_region && is_border) border.push_back(point_at(at));
    }
    return border;
  }

 private:
  bool neighbour(size_t at, size_t which, size_t* next) const {
    const auto [x, y] = kNeighbours[which];
    const auto column = static_cast<int64_t>(at) % width_ + x;
    const auto place = static_cast<int64_t>(at) + y * width_ + x;
    if (column < 0 || column >= width_ || place < 0) return false;
    *next = static_cast<size_t>(place);
    return *next < pixels_.size();
  }
  Point point_at(size_t at) const {
    const auto place = static_cast<int64_t>(at);
    return {static_cast<double>(place % width_ - 1), static_cast<double>(place / width_ - 1)};
  }

  const int64_t width_;
  std::vector<uint8_t> pixels_, seen_;
};

}  // namespace

Mask dilated(const Mask& mask) {
  Mask result = mask;
  const auto at = [&mask](int64_t y, int64_t x) -> uint8_t {
    return y < 0 || x < 0 ? 0 : mask.pixels[static_cast<size_t>(y * mask.width + x)];
  };
  for (int64_t y = 0; y < mask.height; ++y) {
    for (int64_t x = 0; x < mask.width; ++x) {
      result.pixels[static_cast<size_t>(y * mask.width + x)] =
          at(y, x) | at(y - 1, x) | at(y, x - 1) | at(y - 1, x - 1);
    }
  }
  return result;
}

std::vector<std::vector<Point>> borders_of(const Mask& mask, size_t most) {
  Framed framed(mask);
  framed.border_from(0);  // the outside is no hole
  std::vector<std::vector<Point>> borders;
  for (size_t at = 0; at < framed.size() && borders.size() < most; ++at) {
    if (!framed.is_seen(at)) borders.push_back(framed.border_from(at));
  }
  return borders;
}

}  // namespace xsp::pipelines

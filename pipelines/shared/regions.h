// Regions of a mask, and the pixels of their borders.
#ifndef XSP_PIPELINES_SHARED_REGIONS_H_
#define XSP_PIPELINES_SHARED_REGIONS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipelines/shared/quads.h"

namespace xsp::pipelines {

struct Mask {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels;  // 0 or 1, row by row
};

// Sets each pixel that itself, or whose left, upper or upper left neighbour is set.
Mask dilated(const Mask& mask);
// Returns the pixels of each border, at most `most` borders (S. Suzuki and K. Abe, CVGIP 30, 1985):
// of a region, whose pixels touch by sides or corners, the outer border, and one around each of its
// holes, whose pixels touch by sides.
std::vector<std::vector<Point>> borders_of(const Mask& mask, size_t most);

}  // namespace xsp::pipelines

#endif  // XSP_PIPELINES_SHARED_REGIONS_H_

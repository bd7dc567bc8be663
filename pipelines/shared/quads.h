// Points, and rectangles around them.
#ifndef XSP_PIPELINES_SHARED_QUADS_H_
#define XSP_PIPELINES_SHARED_QUADS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace xsp::pipelines {

struct Point {
  double x = 0, y = 0;
};
using Quad = std::array<Point, 4>;  // corners, one after the other

struct Rectangle {
  Quad corners;
  double least_side = 0;
};

// Returns the corners of the convex hull, one after the other, without those on its edges.
std::vector<Point> hull_of(std::vector<Point> points);
// Returns the rectangle of the smallest area that has all points; one of its sides lies on an edge
// of their hull (H. Freeman and R. Shapira, CACM 18, 1975). There is at least one point.
Rectangle smallest_rectangle(const std::vector<Point>& points);
// Cuts the corners to whole numbers, towards zero.
Quad whole(const Quad& quad);
// Returns the corners of what a quadrangle becomes if each side moves outward by
// ratio * area / perimeter. Its corners are cut to whole numbers before, and become arcs, whose
// corners are rounded, as in the library Clipper.
std::vector<Point> grown(const Quad& quad, double ratio);

// Pixels of a row, both ends among them.
struct Run {
  int64_t row = 0, first = 0, last = 0;
};
// Returns the pixels of a convex quadrangle with whole corners, its edges among them, within an
// image.
std::vector<Run> rows_of(const Quad& quad, int64_t height, int64_t width);

}  // namespace xsp::pipelines

#endif  // XSP_PIPELINES_SHARED_QUADS_H_

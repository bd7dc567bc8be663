// Charts: inline SVG, in the colours of the style sheet. A chart's figures are also in a table of
// the page, with links, so a chart is one picture with one label, and has no links.
#ifndef XSP_DESK_SITE_CHART_H_
#define XSP_DESK_SITE_CHART_H_

#include <optional>
#include <string>
#include <vector>

namespace xsp::site {

struct Point {
  double x = 0;
  double y = 0;
  std::optional<double> low;  // of y's interval
  std::optional<double> high;
  std::string label;
  size_t group = 0;  // its colour
};

struct Axis {
  std::string title;
  std::string unit;  // as number_text() takes it
  bool is_log = false;
  bool is_of_values = false;  // its ticks are the values of the points
};

// A ceiling of a roofline: y = min(slope * x, flat).
struct Roof {
  double slope = 0;
  double flat = 0;
};

struct Chart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Point> points;
  std::vector<std::string> groups;  // names of the colours; empty: one
  bool has_lines = false;           // joins the points of a group, in their order
  std::optional<Roof> roof;
};

// Returns the chart, or a sentence if it has no point.
std::string chart_html(const Chart& chart);

}  // namespace xsp::site

#endif  // XSP_DESK_SITE_CHART_H_

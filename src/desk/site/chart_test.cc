#include "desk/site/chart.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace xsp::site {
namespace {

Chart chart_of(const std::vector<std::pair<double, double>>& places) {
  Chart chart;
  chart.title = "made up";
  chart.x = {"x", "number", false, false};
  chart.y = {"y", "number", false, false};
  for (const auto& [x, y] : places) {
    Point point;
    point.x = x;
    point.y = y;
    point.label = "point " + std::to_string(chart.points.size());
    chart.points.push_back(point);
  }
  return chart;
}

size_t count_of(const std::string& html, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = html.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Chart, PointsThatStandApartHaveTheirLabels) {
  const std::string html = chart_html(chart_of({{1, 1}, {5, 5}, {9, 9}}));
  EXPECT_EQ(count_of(html, "class=\"label\""), 3u);
}

// A point has six places for its label, and each point hides the places of the others.
TEST(Chart, NoLabelCoversAnother) {
  std::vector<std::pair<double, double>> places = {{1, 1}, {9, 9}};
  places.insert(places.end(), 40, {5, 5});
  const std::string html = chart_html(chart_of(places));
  EXPECT_GT(count_of(html, "class=\"label\""), 2u);
  EXPECT_LE(count_of(html, "class=\"label\""), 2u + 6u);
  EXPECT_EQ(count_of(html, "<title>"), places.size());
}

}  // namespace
}  // namespace xsp::site

#include "desk/site/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "desk/site/html.h"

namespace xsp::site {
namespace {

constexpr double kWidth = 560, kHeight = 320;
constexpr double kLeft = 84, kRight = 40, kTop = 14, kBottom = 48;
constexpr size_t kColours = 7;

// Maps values to the chart's width or height.
class Scale {
 public:
  Scale(const Axis& axis, std::vector<double> values, double from, double to)
      : is_log_(axis.is_log), from_(from), to_(to) {
    if (is_log_) std::erase_if(values, [](double value) { return value <= 0; });
    if (values.empty()) values = {1};
    if (axis.is_of_values) values_ = {values.begin(), values.end()};
    low_ = *std::min_element(values.begin(), values.end());
    high_ = *std::max_element(values.begin(), values.end());
    if (is_log_) {
      low_ = std::pow(10, std::floor(std::log10(low_) * 2 - 0.1) / 2);
      high_ = std::pow(10, std::ceil(std::log10(high_) * 2 + 0.1) / 2);
    } else {
      low_ = std::min(0.0, low_);
      high_ = high_ > low_ ? high_ * 1.08 : low_ + 1;
    }
  }
  double at(double value) const {
    const double share =
        is_log_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return from_ + std::clamp(share, 0.0, 1.0) * (to_ - from_);
  }
  std::vector<double> ticks() const {
    std::vector<double> all(values_.begin(), values_.end());
    if (!all.empty()) return all;
    if (is_log_) {
      const bool is_short = high_ / low_ < 1e3;
      for (double decade = std::pow(10, std::floor(std::log10(low_))); decade <= high_;
           decade *= 10) {
        for (const double factor : {1.0, 3.0}) {
          const double tick = decade * factor;
          const bool is_shown = factor == 1.0 || is_short;
          if (is_shown && tick >= low_ * 0.999 && tick <= high_ * 1.001) all.push_back(tick);
        }
      }
      return all;
    }
    const double rough = (high_ - low_) / 5;
    const double decade = std::pow(10, std::floor(std::log10(rough)));
    const double step = rough / decade > 5   ? 10 * decade
                        : rough / decade > 2 ? 5 * decade
                                             : 2 * decade;
    for (double tick = std::ceil(low_ / step) * step; tick <= high_; tick += step)
      all.push_back(tick);
    return all;
  }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  bool is_log_;
  double from_, to_;
  double low_ = 0, high_ = 1;
  std::set<double> values_;
};

std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                     kind, x1, y1, x2, y2);
}

std::string axes(const Chart& chart, const Scale& x, const Scale& y) {
  std::string svg;
  for (const double tick : x.ticks()) {
    svg += line(x.at(tick), kTop, x.at(tick), kHeight - kBottom, "grid");
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x.at(tick),
                    kHeight - kBottom + 16, escaped(number_text(tick, chart.x.unit)));
  }
  for (const double tick : y.ticks()) {
    svg += line(kLeft, y.at(tick), kWidth - kRight, y.at(tick), "grid");
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 6,
                       y.at(tick) + 4, escaped(number_text(tick, chart.y.unit)));
  }
  svg +=
      fmt::format("<text class=\"axis\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                  (kLeft + kWidth - kRight) / 2, kHeight - 10, escaped(chart.x.title));
  const double middle = (kTop + kHeight - kBottom) / 2;
  svg += fmt::format(
      "<text class=\"axis\" transform=\"translate(14 {:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>",
      middle, escaped(chart.y.title));
  return svg;
}

std::string roof_line(const Roof& roof, const Scale& x, const Scale& y) {
  const double ridge = roof.flat / roof.slope;
  const double left = std::max(x.low(), y.low() / roof.slope);
  std::string points;
  const auto add = [&](double at, double value) {
    points += fmt::format("{:.1f},{:.1f} ", x.at(at), y.at(value));
  };
  add(left, roof.slope * left);
  if (ridge > left && ridge < x.high()) add(ridge, roof.flat);
  add(x.high(), std::min(roof.flat, roof.slope * x.high()));
  return "<polyline class=\"roof\" points=\"" + points + "\"/>";
}

// Places for the points' labels: none covers another label or a point. A point that finds no place
// has its title alone, which a reader sees when the pointer is on it.
class LabelPlaces {
 public:
  LabelPlaces(const Chart& chart, const Scale& x, const Scale& y) {
    for (const Point& point : chart.points) {
      const double at_x = x.at(point.x), at_y = y.at(point.y);
      taken_.push_back({at_x - kRadius, at_y - kRadius, at_x + kRadius, at_y + kRadius});
    }
  }

  std::string label(const Point& point, double x, double y) {
    const double width = kLetter * static_cast<double>(point.label.size());
    for (const bool is_right : {x <= kWidth * 0.7, x > kWidth * 0.7}) {
      for (const double down : {0.0, -kLine, kLine}) {
        const double from = is_right ? x + kGap : x - kGap - width;
        const Box box{from, y + down - kLine / 2, from + width, y + down + kLine / 2};
        if (from < kLeft || box.right > kWidth || box.top < 0 || box.bottom > kHeight) continue;
        if (std::any_of(taken_.begin(), taken_.end(),
                        [&](const Box& other) { return box.overlaps(other); })) {
          continue;
        }
        taken_.push_back(box);
        return fmt::format(
            "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>",
            is_right ? x + kGap : x - kGap, y + down + 4, is_right ? "start" : "end",
            escaped(point.label));
      }
    }
    return {};
  }

 private:
  struct Box {
    double left, top, right, bottom;
    bool overlaps(const Box& other) const {
      return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
  };
  static constexpr double kRadius = 4, kGap = 8;
  static constexpr double kLine = 12, kLetter = 6;  // of the labels' font, at most

  std::vector<Box> taken_;
};

std::string mark(const Chart& chart, const Point& point, const Scale& x, const Scale& y) {
  const size_t colour = point.group % kColours + 1;
  std::string svg;
  if (point.low && point.high) {
    svg +=
        fmt::format("<line class=\"c{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                    colour, x.at(point.x), y.at(*point.low), x.at(point.x), y.at(*point.high));
  }
  const std::string title = point.label + ": " + number_text(point.x, chart.x.unit) + ", " +
                            number_text(point.y, chart.y.unit);
  svg += fmt::format(
      "<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>{}</title></circle>",
      colour, x.at(point.x), y.at(point.y), escaped(title));
  return svg;
}

std::string lines_of(const Chart& chart, const Scale& x, const Scale& y) {
  std::map<size_t, std::string> groups;
  for (const Point& point : chart.points) {
    groups[point.group] += fmt::format("{:.1f},{:.1f} ", x.at(point.x), y.at(point.y));
  }
  std::string svg;
  for (const auto& [group, points] : groups) {
    svg +=
        fmt::format("<polyline class=\"c{} joined\" points=\"{}\"/>", group % kColours + 1, points);
  }
  return svg;
}

std::string legend(const Chart& chart) {
  if (chart.groups.size() < 2) return {};
  std::string html = "<p class=\"legend\">";
  for (size_t i = 0; i < chart.groups.size(); ++i) {
    html += fmt::format("<span><i class=\"b{}\"></i>{}</span>", i % kColours + 1,
                        escaped(chart.groups[i]));
  }
  return html + "</p>";
}

}  // namespace

std::string chart_html(const Chart& chart) {
  if (chart.points.empty()) {
    return "<figure><figcaption>" + escaped(chart.title) +
           "</figcaption><p class=\"none\">not measured</p></figure>\n";
  }
  std::vector<double> xs, ys;
  for (const Point& point : chart.points) {
    xs.push_back(point.x);
    ys.push_back(point.y);
    if (point.high) ys.push_back(*point.high);
  }
  if (chart.roof) {
    xs.push_back(chart.roof->flat / chart.roof->slope);
    ys.push_back(chart.roof->flat);
  }
  const Scale x(chart.x, xs, kLeft, kWidth - kRight);
  const Scale y(chart.y, ys, kHeight - kBottom, kTop);
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", kWidth,
                  kHeight, escaped(chart.title + ": " + chart.y.title + " over " + chart.x.title));
  svg += axes(chart, x, y);
  if (chart.roof) svg += roof_line(*chart.roof, x, y);
  if (chart.has_lines) svg += lines_of(chart, x, y);
  for (const Point& point : chart.points) svg += mark(chart, point, x, y);
  if (!chart.has_lines) {
    LabelPlaces places(chart, x, y);
    for (const Point& point : chart.points) {
      svg += places.label(point, x.at(point.x), y.at(point.y));
    }
  }
  return "<figure><figcaption>" + escaped(chart.title) + "</figcaption>" + svg + "</svg>" +
         legend(chart) + "</figure>\n";
}

}  // namespace xsp::site

#include "desk/predict/accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "shared/base/nearest.h"

namespace xsp::predict {
namespace {

using experiment::ResultRow;
using metrics::Metric;

// A value that is as far off as is tolerated, but for the round-off of both.
constexpr double kRoundOff = 1e-9;

std::vector<std::string> names_of(const std::vector<Metric>& metrics) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics) names.push_back(metric.name);
  return names;
}

std::vector<metrics::Pair> pairs_of(const std::vector<Item>& items,
                                    const std::vector<process::OutputAnswer>& answers,
                                    const Labels& labels) {
  std::vector<metrics::Pair> pairs(items.size());
  size_t next = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<process::OutputAnswer> of_item;
    for (; next < answers.size() && answers[next].item == static_cast<int64_t>(i); ++next) {
      of_item.push_back(answers[next]);
    }
    pairs[i].predicted = answer_of(of_item, labels);
    pairs[i].right.labels = {items[i].label};
    pairs[i].right.text = items[i].label;
  }
  return pairs;
}

ResultRow row_of(const Metric& metric, const std::vector<metrics::Pair>& pairs) {
  ResultRow row{metric.name, {}, {}, {}, metric.unit.empty() ? "share" : metric.unit, 1, ""};
  const auto measured = metric.measure(pairs, metrics::kSeed);
  if (!measured.ok()) {
    row.note = "not measured: " + measured.error().text;
    return row;
  }
  row.value = measured->value;
  if (measured->interval) {
    row.low = measured->interval->low;
    row.high = measured->interval->high;
    row.note = metric.interval;
  }
  return row;
}

// Returns "met: top1 is 0.957, 0.956 is expected, which it may miss by 0.01".
std::string verdict_of(const std::string& name, const ResultRow& row, double expected,
                       double tolerance, bool is_met) {
  char text[200];
  if (!row.value) {
    std::snprintf(text, sizeof text, "missed: %s, of which %g is expected, is ", name.c_str(),
                  expected);
    return text + row.note;
  }
  std::snprintf(text, sizeof text, "%s: %s is %.4g, %g is expected, which it may miss by %g",
                is_met ? "met" : "missed", name.c_str(), *row.value, expected, tolerance);
  return text;
}

}  // namespace

Result<std::vector<Metric>> metrics_of(const manifest::Manifest& manifest) {
  std::vector<Metric> chosen = metrics::metrics_of(manifest.task);
  for (const auto& [name, value] : manifest.expect) {
    const auto is_it = [&name](const Metric& metric) { return metric.name == name; };
    if (std::any_of(chosen.begin(), chosen.end(), is_it)) continue;
    const auto found = metrics::find_metric(name);
    if (!found) {
      const std::vector<std::string> names = names_of(metrics::all_metrics());
      return usage(manifest.place_of("expect." + name) + ": there is no such metric: " +
                   did_you_mean(name, names, "see 'xsp evaluate --help'"));
    }
    chosen.push_back(*found);
  }
  if (!chosen.empty()) return chosen;
  return usage(manifest.place_of("task") + ": no metric is for '" + manifest.task +
               "': expect one by its name, such as expect: {top1: 0.9}");
}

Scored score(const manifest::Manifest& manifest, const std::vector<Metric>& metrics,
             const std::vector<Item>& items, const std::vector<process::OutputAnswer>& answers,
             const Labels& labels) {
  const std::vector<metrics::Pair> pairs = pairs_of(items, answers, labels);
  Scored scored;
  for (const Metric& metric : metrics) {
    ResultRow row = row_of(metric, pairs);
    if (const auto expected = manifest.expect.find(metric.name);
        expected != manifest.expect.end()) {
      const bool is_met =
          row.value && std::abs(*row.value - expected->second) <= manifest.tolerance + kRoundOff;
      scored.is_met = scored.is_met && is_met;
      scored.verdict += (scored.verdict.empty() ? "" : "\n") +
                        verdict_of(metric.name, row, expected->second, manifest.tolerance, is_met);
    }
    scored.rows.push_back(std::move(row));
  }
  return scored;
}

}  // namespace xsp::predict

// The area under the receiver operating characteristic, as scikit-learn's roc_auc_score: of a class
// against all others, and the mean over the classes (multi_class='ovr', average='macro'). Two
// classes whose scores sum to 1 have the same area. Ties count half.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "desk/statistics/intervals.h"
#include "metrics/shared/metric.h"
#include "metrics/shared/ratio.h"

namespace xsp::metrics {
namespace {

// The items in the order of one class's score.
struct Ranking {
  std::vector<size_t> order;
  std::vector<double> scores;   // by item
  std::vector<bool> is_member;  // by item
};

// Returns the share of pairs of a member and another in which the member has the higher score.
std::optional<double> area(const Ranking& ranking, std::span<const uint32_t> weights) {
  double members = 0;
  double others = 0;
  double won = 0;
  for (size_t begin = 0; begin < ranking.order.size();) {
    double tied_members = 0;
    double tied_others = 0;
    size_t end = begin;
    const double score = ranking.scores[ranking.order[begin]];
    for (; end < ranking.order.size() && ranking.scores[ranking.order[end]] == score; ++end) {
      const size_t item = ranking.order[end];
      (ranking.is_member[item] ? tied_members : tied_others) += weights[item];
    }
    won += tied_members * (others + tied_others / 2);
    members += tied_members;
    others += tied_others;
    begin = end;
  }
  if (members == 0 || others == 0) return std::nullopt;
  return won / (members * others);
}

Result<Ranking> ranked(std::span<const Pair> pairs, const std::string& label) {
  Ranking ranking;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& [predicted, right] = pairs[i];
    const auto found = std::find(predicted.labels.begin(), predicted.labels.end(), label);
    const auto at = static_cast<size_t>(found - predicted.labels.begin());
    if (at >= predicted.scores.size()) {
      return failed(item_text(i) + "has no score for '" + label +
                    "': the area under the curve needs the scores of all classes");
    }
    if (std::isnan(predicted.scores[at])) {
      return failed(item_text(i) + "has a score for '" + label + "' that is not a number");
    }
    ranking.scores.push_back(predicted.scores[at]);
    ranking.is_member.push_back(right.labels[0] == label);
  }
  ranking.order.resize(pairs.size());
  std::iota(ranking.order.begin(), ranking.order.end(), size_t{0});
  std::sort(ranking.order.begin(), ranking.order.end(),
            [&](size_t a, size_t b) { return ranking.scores[a] < ranking.scores[b]; });
  return ranking;
}

Result<Score> roc_auc(std::span<const Pair> pairs, uint64_t seed) {
  std::set<std::string> labels;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].right.labels.empty()) return failed(item_text(i) + "has no right label");
    labels.insert(pairs[i].right.labels[0]);
  }
  if (labels.size() < 2) {
    return failed("the items have fewer than two classes: there is no area under the curve");
  }
  std::vector<Ranking> rankings;
  for (const std::string& label : labels) {
    XSP_TRY(Ranking ranking, ranked(pairs, label));
    rankings.push_back(std::move(ranking));
  }
  const auto mean = [&rankings](std::span<const uint32_t> weights) -> std::optional<double> {
    double sum = 0;
    for (const Ranking& ranking : rankings) {
      const std::optional<double> one = area(ranking, weights);
      if (!one) return std::nullopt;
      sum += *one;
    }
    return sum / static_cast<double>(rankings.size());
  };
  return Score{mean(std::vector<uint32_t>(pairs.size(), 1)).value_or(0),
               statistics::bootstrap(pairs.size(), seed, mean)};
}

}  // namespace

std::vector<Metric> roc_auc_metrics() {
  return {{"roc_auc",
           "area under the ROC curve",
           "The chance that an item of a class scores higher for it than an item of another one, "
           "the mean over the classes.",
           kBootstrap,
           "",
           {"classification"},
           roc_auc}};
}

}  // namespace xsp::metrics

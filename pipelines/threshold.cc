// Two classes by a threshold: class 1 if enough probabilities reach it, else class 0.
//
// The score of class 1 is the `least`-th largest probability, p; that of class 0 is 1 - p. The
// class that is chosen comes first, also where its score is the lower one.
#include <algorithm>
#include <functional>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kLeastMax = 1 << 30;

class Threshold : public Step {
 public:
  explicit Threshold(Parameters& parameters)
      : value_(parameters.number("value")), least_(parameters.integer("least", 1, kLeastMax, 1)) {}

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kTensor && given.kind != Kind::kWindows) {
      return usage("a tensor of probabilities");
    }
    return Type{Kind::kRanking, 0, {}, "", ""};
  }

  Result<Value> run(Value value) override {
    std::vector<double> numbers(static_cast<size_t>(element_count(value.type.dimensions)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at(value, i);
    // A number that is no number reaches nothing, and cannot be ordered.
    std::erase_if(numbers, [](double number) { return number != number; });
    const auto least = static_cast<size_t>(least_);
    double score = 0;
    if (numbers.size() >= least) {
      const auto at = numbers.begin() + static_cast<ptrdiff_t>(least) - 1;
      std::nth_element(numbers.begin(), at, numbers.end(), std::greater<>());
      score = *at;
    }
    Value ranking;
    ranking.type.kind = Kind::kRanking;
    ranking.ranking = {{0, 1 - score}, {1, score}};
    if (numbers.size() >= least && score >= value_) {
      std::swap(ranking.ranking[0], ranking.ranking[1]);
    }
    return ranking;
  }

 private:
  const double value_;
  const int64_t least_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<Threshold>(parameters);
}

}  // namespace

StepKind threshold_step() {
  return {"threshold", "Class 1 if enough probabilities reach a value, else class 0.",
          "value: the threshold; least: how many must reach it, else 1", make};
}

}  // namespace xsp::pipelines

// The classes with the highest scores. Of equal scores, the class with the lower number is first;
// a score that is not a number is last.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kCountMax = 1'000'000;

class Top : public Step {
 public:
  explicit Top(Parameters& parameters) : count_(parameters.integer("count", 1, kCountMax, 5)) {}

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kTensor) return usage("a tensor of scores");
    return Type{Kind::kRanking, 0, {}, "", ""};
  }

  Result<Value> run(Value value) override {
    const auto classes = static_cast<size_t>(element_count(value.type.dimensions));
    std::vector<Ranked> all(classes);
    for (size_t i = 0; i < classes; ++i) all[i] = {static_cast<int64_t>(i), number_at(value, i)};
    const size_t count = std::min(static_cast<size_t>(count_), classes);
    std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(count), all.end(),
                      [](const Ranked& a, const Ranked& b) {
                        if (std::isnan(a.score) != std::isnan(b.score)) return std::isnan(b.score);
                        if (a.score != b.score && !std::isnan(a.score)) return a.score > b.score;
                        return a.index < b.index;
                      });
    all.resize(count);
    Value ranking;
    ranking.type.kind = Kind::kRanking;
    ranking.ranking = std::move(all);
    return ranking;
  }

 private:
  const int64_t count_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Top>(parameters); }

}  // namespace

StepKind top_step() {
  return {"top", "The classes with the highest scores.", "count: how many; else 5", make};
}

}  // namespace xsp::pipelines

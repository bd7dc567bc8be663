// The classes that a model with connectionist temporal classification reads (A. Graves et al.,
// ICML 2006), by the greedy rule: the best class of each step; of equal ones in a row the first;
// blanks are left out.
//
// A class's number among the labels leaves the blank out. Its score is the probability in the step
// in which it is read.
#include <algorithm>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kClassMax = 1 << 24;

class Ctc : public Step {
 public:
  explicit Ctc(Parameters& parameters)
      : blank_(parameters.integer("blank", 0, kClassMax, 0)),
        has_space_(parameters.word("space", {"last", "none"}, "none") == "last") {}

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kTensor || given.dtype != XSP_FLOAT32 || given.dimensions.size() != 2) {
      return usage("float32[steps,classes]: the probabilities of the classes in each step");
    }
    Type type{Kind::kSequence, 0, {kUnknown}, "", ""};
    const int64_t classes = given.dimensions[1];
    if (classes == kUnknown) return type;
    const int64_t others = has_space_ ? 2 : 1;
    if (classes <= others || blank_ > classes - others) {
      return usage("more classes: there are " + std::to_string(classes) +
                   ", and the blank is number " + std::to_string(blank_));
    }
    type.dimensions = {classes - others};
    return type;
  }

  Result<Value> run(Value value) override {
    const auto steps = static_cast<size_t>(value.type.dimensions[0]);
    const auto classes = static_cast<size_t>(value.type.dimensions[1]);
    const auto probabilities = value.as<float>();
    XSP_TRY(Type type, accept(value.type));
    Value sequence;
    sequence.type = std::move(type);
    int64_t before = blank_;
    for (size_t step = 0; step < steps; ++step) {
      const auto scores = probabilities.subspan(step * classes, classes);
      const auto best = std::max_element(scores.begin(), scores.end());
      const int64_t index = best - scores.begin();
      if (index != before && index != blank_) {
        sequence.ranking.push_back({label_of(index, static_cast<int64_t>(classes)), *best});
      }
      before = index;
    }
    return sequence;
  }

 private:
  int64_t label_of(int64_t index, int64_t classes) const {
    if (has_space_ && index == classes - 1) return kSpace;
    return index > blank_ ? index - 1 : index;
  }

  const int64_t blank_;
  const bool has_space_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Ctc>(parameters); }

}  // namespace

StepKind ctc_step() {
  return {"ctc", "The classes that are read one after the other, such as characters.",
          "blank: its class, else 0; space: last, if the last class is a space that has no label",
          make};
}

}  // namespace xsp::pipelines

// The same numbers with other dimensions. Those of windows are the dimensions of each window.
#include <algorithm>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr double kSideMax = 1 << 30;

class Reshape : public Step {
 public:
  explicit Reshape(Parameters& parameters) {
    for (const double side : parameters.numbers("to", {})) {
      if (!(side >= 1 && side <= kSideMax)) {
        parameters.refuse("to", "no dimensions: write whole numbers such as [64, 1]");
      } else {
        to_.push_back(static_cast<int64_t>(side));
      }
    }
    if (!parameters.has("to")) parameters.refuse("to", "missing: write the dimensions");
  }

  Result<Type> accept(const Type& given) override {
    const std::vector<int64_t> from = dimensions_of_window(given);
    const bool is_known = std::count(from.begin(), from.end(), kUnknown) == 0;
    if ((given.kind != Kind::kTensor && given.kind != Kind::kWindows) ||
        (is_known && element_count(from) != element_count(to_))) {
      return usage("a tensor or windows with as many numbers as " + dimensions_text(to_));
    }
    Type type = given;
    type.dimensions = to_;
    if (given.kind == Kind::kWindows) type.dimensions.insert(type.dimensions.begin(), kUnknown);
    return type;
  }

  Result<Value> run(Value value) override {
    XSP_TRY(Type type, accept(value.type));
    if (value.type.kind == Kind::kWindows) type.dimensions[0] = value.type.dimensions[0];
    value.type = std::move(type);
    return value;
  }

 private:
  std::vector<int64_t> to_;
};

std::unique_ptr<Step> make(Parameters& parameters) { return std::make_unique<Reshape>(parameters); }

}  // namespace

StepKind reshape_step() {
  return {"reshape", "The same numbers with other dimensions.",
          "to: the dimensions, such as [64, 1]; of windows, those of each", make};
}

}  // namespace xsp::pipelines

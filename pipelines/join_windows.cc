// The rows of all windows, one after the other, as one tensor. Where windows overlap, the same
// number of rows is dropped at both ends of each. The rows are cut to the length of the audio.
#include <algorithm>
#include <cmath>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kDropMax = 1 << 24;

class JoinWindows : public Step {
 public:
  explicit JoinWindows(Parameters& parameters)
      : drop_(parameters.integer("drop", 0, kDropMax, 0)), rate_(parameters.number("rate", 0)) {
    if (rate_ < 0) parameters.refuse("rate", "less than zero: write the rows of a second");
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kWindows || given.dimensions.size() < 2 ||
        (given.dimensions[1] != kUnknown && given.dimensions[1] <= 2 * drop_)) {
      return usage("windows of more than " + std::to_string(2 * drop_) + " rows");
    }
    Type type = tensor_type(given.dtype, {kUnknown});
    type.dimensions.insert(type.dimensions.end(), given.dimensions.begin() + 2,
                           given.dimensions.end());
    return type;
  }

  Result<Value> run(Value value) override {
    XSP_TRY(Type type, accept(value.type));
    const auto windows = static_cast<size_t>(value.type.dimensions[0]);
    const auto rows = static_cast<size_t>(value.type.dimensions[1]);
    const auto drop = static_cast<size_t>(drop_);
    const size_t kept = rows - 2 * drop;
    type.dimensions[0] = static_cast<int64_t>(windows * kept);
    const size_t row_size = windows > 0 ? value.data.size() / (windows * rows) : 0;
    if (rate_ > 0 && value.source.rate > 0) {
      const double length = static_cast<double>(value.source.samples) *
                            (rate_ / static_cast<double>(value.source.rate));
      type.dimensions[0] = std::min(type.dimensions[0], static_cast<int64_t>(length));
    }
    Value result = zeros(type);
    for (size_t i = 0; i < windows && i * kept * row_size < result.data.size(); ++i) {
      const size_t to = i * kept * row_size;
      const size_t bytes = std::min(kept * row_size, result.data.size() - to);
      std::memcpy(&result.data[to], &value.data[(i * rows + drop) * row_size], bytes);
    }
    return result;
  }

 private:
  const int64_t drop_;
  const double rate_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<JoinWindows>(parameters);
}

}  // namespace

StepKind join_windows_step() {
  return {
      "join_windows", "The rows of all windows, one after the other.",
      "drop: rows at both ends of each window, else 0; rate: rows of a second, by which they are "
      "cut to the length of the audio",
      make};
}

}  // namespace xsp::pipelines

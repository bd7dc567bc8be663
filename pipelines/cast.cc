// Numbers of another type. What an integer type cannot hold becomes the nearest number that it can;
// fractions are cut off.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

template <typename To>
void convert(const Value& from, Value* to) {
  const auto elements = to->as<To>();
  for (size_t i = 0; i < elements.size(); ++i) {
    const double number = number_at(from, i);
    if constexpr (std::is_integral_v<To>) {
      // The limits of 64-bit types are not doubles: the largest rounds up to one that does not fit.
      constexpr auto kLeast = std::numeric_limits<To>::min(),
                     kMost = std::numeric_limits<To>::max();
      if (std::isnan(number)) {
        elements[i] = 0;
      } else if (number <= static_cast<double>(kLeast)) {
        elements[i] = kLeast;
      } else {
        elements[i] = number >= static_cast<double>(kMost) ? kMost : static_cast<To>(number);
      }
    } else {
      elements[i] = static_cast<To>(number);
    }
  }
}

struct Target {
  const char* name;
  uint32_t dtype;
  void (*convert)(const Value& from, Value* to);
};

constexpr Target kTargets[] = {
    {"float32", XSP_FLOAT32, convert<float>},  {"float64", XSP_FLOAT64, convert<double>},
    {"uint8", XSP_UINT8, convert<uint8_t>},    {"int8", XSP_INT8, convert<int8_t>},
    {"uint16", XSP_UINT16, convert<uint16_t>}, {"int16", XSP_INT16, convert<int16_t>},
    {"uint32", XSP_UINT32, convert<uint32_t>}, {"int32", XSP_INT32, convert<int32_t>},
    {"uint64", XSP_UINT64, convert<uint64_t>}, {"int64", XSP_INT64, convert<int64_t>}};

class Cast : public Step {
 public:
  explicit Cast(const Target& target) : target_(target) {}

  Result<Type> accept(const Type& given) override {
    if (given.kind == Kind::kNothing || given.kind == Kind::kText || given.kind == Kind::kRanking) {
      return usage("numbers: put it behind a step that gives a tensor, an image or bytes");
    }
    return type_of(given);
  }

  Result<Value> run(Value value) override {
    if (value.type.dtype == target_.dtype) {
      value.type = type_of(value.type);
      return value;
    }
    Value result = zeros(type_of(value.type));
    target_.convert(value, &result);
    return result;
  }

 private:
  Type type_of(Type type) const {
    if (type.kind == Kind::kBytes) type.kind = Kind::kTensor;
    type.dtype = target_.dtype;
    return type;
  }

  const Target target_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  std::vector<std::string> names;
  for (const Target& target : kTargets) names.emplace_back(target.name);
  const std::string name = parameters.word("to", names);
  const auto target = std::find_if(std::begin(kTargets), std::end(kTargets),
                                   [&](const Target& t) { return name == t.name; });
  return std::make_unique<Cast>(target == std::end(kTargets) ? kTargets[0] : *target);
}

}  // namespace

StepKind cast_step() {
  return {"cast", "Numbers of another type.", "to: the type, such as float32", make};
}

}  // namespace xsp::pipelines

// One rule per operator: computes the shapes, and small integers, of its outputs from those of its
// inputs.
#ifndef XSP_FORMATS_ONNX_SHAPE_RULES_H_
#define XSP_FORMATS_ONNX_SHAPE_RULES_H_

#include <string>

#include "formats/onnx/shapes.h"

namespace xsp::formats {

constexpr int64_t kUnknownSize = -1;  // in a Shape: the size depends on the data

// Return a * b and a + b, or the largest number if the result exceeds it. For sizes, which are not
// negative.
int64_t saturating_product(int64_t a, int64_t b);
int64_t saturating_sum(int64_t a, int64_t b);

// Holds one node, and the facts known so far.
class RuleContext {
 public:
  RuleContext(const Node& rule_node, KnownValues* values) : node(rule_node), values_(values) {}

  // Returns nullptr if the input is absent or not known.
  const KnownValue* input(size_t index) const;
  bool has_integers(size_t index) const;
  // Returns the elements of an integer input, or `otherwise` if they are not known.
  std::vector<int64_t> integers(size_t index, const std::vector<int64_t>& otherwise = {}) const;
  void set(size_t index, KnownValue value);
  void set_shape(size_t index, int32_t dtype, Shape shape) {
    set(index, {dtype, std::move(shape), false, {}});
  }
  // Ends the rule, because the inputs do not fit together.
  void contradict(const std::string& why) { problem = why; }

  const Node& node;
  std::string problem;

 private:
  KnownValues* values_;
};

// Sets the facts of the outputs. Sets nothing for an operator without a rule, or for a value that
// depends on data.
void apply_rule(RuleContext& context);

// Resolves an axis that may count from the end. Returns -1 if there is no such axis.
int64_t resolve_axis(int64_t axis, size_t rank);

}  // namespace xsp::formats

#endif  // XSP_FORMATS_ONNX_SHAPE_RULES_H_

#include "formats/onnx/shape_rules.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "formats/onnx/reader.h"

namespace xsp::formats {
namespace {

bool keeps_integers(const KnownValue& value) {
  const int64_t elements = value.elements();
  return elements >= 0 && elements <= static_cast<int64_t>(kMaxKeptValues);
}

void same_as_first(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x != nullptr) c.set(0, *x);
}

// Works like same_as_first, but does not compute the resulting integers.
void unary(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x != nullptr) c.set_shape(0, x->dtype, x->shape);
}

void cast(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr) return;
  KnownValue y = *x;
  y.dtype = static_cast<int32_t>(std::clamp<int64_t>(c.node.integer("to", 0), 0, INT32_MAX));
  c.set(0, y);
}

// Applies Numpy's broadcasting. Returns false if the shapes do not fit.
bool broadcast(const Shape& a, const Shape& b, Shape* result) {
  const size_t rank = std::max(a.size(), b.size());
  result->assign(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t m = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t n = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (m != n && m != 1 && n != 1 && m != kUnknownSize && n != kUnknownSize) return false;
    (*result)[i] = m == 1 ? n : (n == 1 || m != kUnknownSize ? m : n);
  }
  return true;
}

int64_t compute(const std::string& op_type, int64_t a, int64_t b) {
  const uint64_t x = static_cast<uint64_t>(a);  // unsigned: numbers of the file may overflow
  const uint64_t y = static_cast<uint64_t>(b);
  if (op_type == "Add") return static_cast<int64_t>(x + y);
  if (op_type == "Sub") return static_cast<int64_t>(x - y);
  if (op_type == "Mul") return static_cast<int64_t>(x * y);
  return b == 0 || (b == -1 && a == INT64_MIN) ? 0 : a / b;
}

void binary(RuleContext& c) {
  const KnownValue* a = c.input(0);
  const KnownValue* b = c.input(1);
  if (a == nullptr || b == nullptr) return;
  KnownValue y;
  y.dtype = a->dtype;
  if (!broadcast(a->shape, b->shape, &y.shape)) return c.contradict("shapes do not broadcast");
  const std::string& op = c.node.op_type;
  const bool followed = op == "Add" || op == "Sub" || op == "Mul" || op == "Div";
  const size_t m = a->integers.size();
  const size_t n = b->integers.size();
  if (followed && a->has_integers && b->has_integers && (m == n || m == 1 || n == 1) && m * n > 0) {
    y.has_integers = true;
    for (size_t i = 0; i < std::max(m, n); ++i) {
      y.integers.push_back(compute(op, a->integers[m == 1 ? 0 : i], b->integers[n == 1 ? 0 : i]));
    }
  }
  c.set(0, y);
}

void comparison(RuleContext& c) {
  const KnownValue* a = c.input(0);
  const KnownValue* b = c.input(1);
  Shape shape;
  if (a == nullptr || b == nullptr) return;
  if (!broadcast(a->shape, b->shape, &shape)) return c.contradict("shapes do not broadcast");
  c.set_shape(0, kBool, shape);
}

void where(RuleContext& c) {
  if (c.input(0) == nullptr || c.input(1) == nullptr || c.input(2) == nullptr) return;
  Shape first;
  Shape shape;
  if (!broadcast(c.input(0)->shape, c.input(1)->shape, &first) ||
      !broadcast(first, c.input(2)->shape, &shape)) {
    return c.contradict("shapes do not broadcast");
  }
  c.set_shape(0, c.input(1)->dtype, shape);
}

// Computes the output size of a sliding window along one axis.
struct Slide {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
};

int64_t slide(const RuleContext& c, int64_t size, const Slide& s) {
  constexpr int64_t kSane = int64_t{1} << 40;  // keeps the arithmetic below from overflowing
  if (size < 0) return kUnknownSize;
  if (size > kSane || s.kernel < 1 || s.kernel > kSane || s.stride < 1 || s.stride > kSane)
    return -2;
  if (s.dilation < 1 || s.dilation > (1 << 20) || std::max(s.pad_begin, s.pad_end) > kSane)
    return -2;
  if (std::min(s.pad_begin, s.pad_end) < -kSane) return -2;
  const Attribute* automatic = c.node.attribute("auto_pad");
  if (automatic != nullptr && automatic->s.rfind("SAME", 0) == 0) {
    return (size + s.stride - 1) / s.stride;
  }
  const int64_t extent = (s.kernel - 1) * s.dilation + 1;
  const int64_t room = size + s.pad_begin + s.pad_end - extent;
  if (room < 0) return -2;
  if (c.node.integer("ceil_mode", 0) == 0) return room / s.stride + 1;
  const int64_t rounded_up = (room + s.stride - 1) / s.stride;
  // A window that begins in the padding at the end does not count.
  return rounded_up * s.stride >= size + s.pad_begin ? rounded_up : rounded_up + 1;
}

// Applies a window to the axes of `x` after the second. Returns false if they do not fit.
bool slide_all(RuleContext& c, const Shape& x, const std::vector<int64_t>& kernel, Shape* y) {
  const size_t axes = x.size() - 2;
  const auto at = [&](const char* name, size_t i, int64_t otherwise) {
    const std::vector<int64_t> list = c.node.integers(name);
    return i < list.size() ? list[i] : otherwise;
  };
  if (kernel.size() != axes) return false;
  for (size_t i = 0; i < axes; ++i) {
    const Slide s = {kernel[i], at("strides", i, 1), at("dilations", i, 1), at("pads", i, 0),
                     at("pads", i + axes, 0)};
    y->push_back(slide(c, x[i + 2], s));
    if (y->back() < kUnknownSize) return false;
  }
  return true;
}

void conv(RuleContext& c) {
  const KnownValue* x = c.input(0);
  const KnownValue* w = c.input(1);
  if (x == nullptr || w == nullptr) return;
  if (x->shape.size() < 3 || w->shape.size() != x->shape.size()) {
    return c.contradict("input and weight differ in rank");
  }
  const int64_t group = c.node.integer("group", 1);
  if (group < 1 || (x->shape[1] >= 0 && saturating_product(w->shape[1], group) != x->shape[1])) {
    return c.contradict("the weight does not fit the input's channels");
  }
  Shape y = {x->shape[0], w->shape[0]};
  if (!slide_all(c, x->shape, Shape(w->shape.begin() + 2, w->shape.end()), &y)) {
    return c.contradict("the window does not fit the input");
  }
  c.set_shape(0, x->dtype, y);
}

void pool(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr) return;
  if (x->shape.size() < 3) return c.contradict("the input is no image");
  Shape y = {x->shape[0], x->shape[1]};
  if (!slide_all(c, x->shape, c.node.integers("kernel_shape"), &y)) {
    return c.contradict("the window does not fit the input");
  }
  c.set_shape(0, x->dtype, y);
}

void global_pool(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr) return;
  Shape y = x->shape;
  for (size_t i = 2; i < y.size(); ++i) y[i] = 1;
  c.set_shape(0, x->dtype, y);
}

void gemm(RuleContext& c) {
  const KnownValue* a = c.input(0);
  const KnownValue* b = c.input(1);
  if (a == nullptr || b == nullptr) return;
  if (a->shape.size() != 2 || b->shape.size() != 2) return c.contradict("not two matrices");
  const bool trans_a = c.node.integer("transA", 0) != 0;
  const bool trans_b = c.node.integer("transB", 0) != 0;
  const int64_t inner_a = a->shape[trans_a ? 0 : 1];
  const int64_t inner_b = b->shape[trans_b ? 1 : 0];
  if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) return c.contradict("inner sizes differ");
  c.set_shape(0, a->dtype, {a->shape[trans_a ? 1 : 0], b->shape[trans_b ? 0 : 1]});
}

void matmul(RuleContext& c) {
  if (c.input(0) == nullptr || c.input(1) == nullptr) return;
  Shape a = c.input(0)->shape;
  Shape b = c.input(1)->shape;
  if (a.empty() || b.empty()) return c.contradict("a scalar is no matrix");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const int64_t inner_a = a.back();
  const int64_t inner_b = b[b.size() - 2];
  if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b) return c.contradict("inner sizes differ");
  Shape y;
  if (!broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2), &y)) {
    return c.contradict("batches do not broadcast");
  }
  if (!row) y.push_back(a[a.size() - 2]);
  if (!column) y.push_back(b.back());
  c.set_shape(0, c.input(0)->dtype, y);
}

void non_max_suppression(RuleContext& c) { c.set_shape(0, kInt64, {kUnknownSize, 3}); }

using Rule = void (*)(RuleContext&);

}  // namespace

// Returns the rules of shape_rules_layout.cc, for operators that move data.
Rule layout_rule(const std::string& op_type);

namespace {

Rule rule_of(const std::string& op_type) {
  static const std::unordered_map<std::string, Rule> rules = {
      {"Conv", conv},
      {"MaxPool", pool},
      {"AveragePool", pool},
      {"GlobalAveragePool", global_pool},
      {"GlobalMaxPool", global_pool},
      {"Gemm", gemm},
      {"MatMul", matmul},
      {"NonMaxSuppression", non_max_suppression},
      {"Where", where},
      {"Cast", cast},
      {"Identity", same_as_first},
      {"Dropout", same_as_first},
      {"Equal", comparison},
      {"Greater", comparison},
      {"GreaterOrEqual", comparison},
      {"Less", comparison},
      {"LessOrEqual", comparison},
      {"And", comparison},
      {"Or", comparison},
  };
  static constexpr const char* kBinary[] = {"Add", "Sub", "Mul", "Div", "Pow", "PRelu"};
  static constexpr const char* kUnary[] = {"BatchNormalization",
                                           "LayerNormalization",
                                           "InstanceNormalization",
                                           "LRN",
                                           "Softmax",
                                           "LogSoftmax",
                                           "Relu",
                                           "LeakyRelu",
                                           "Elu",
                                           "Selu",
                                           "Gelu",
                                           "Clip",
                                           "Sigmoid",
                                           "HardSigmoid",
                                           "HardSwish",
                                           "Tanh",
                                           "Erf",
                                           "Exp",
                                           "Log",
                                           "Sqrt",
                                           "Reciprocal",
                                           "Neg",
                                           "Abs",
                                           "Floor",
                                           "Ceil",
                                           "Round",
                                           "Sin",
                                           "Cos",
                                           "Softplus",
                                           "Mish",
                                           "Not"};
  const auto found = rules.find(op_type);
  if (found != rules.end()) return found->second;
  const auto is = [&](const char* name) { return op_type == name; };
  if (std::any_of(std::begin(kBinary), std::end(kBinary), is)) return binary;
  if (std::any_of(std::begin(kUnary), std::end(kUnary), is)) return unary;
  return layout_rule(op_type);
}

}  // namespace

int64_t saturating_product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

int64_t resolve_axis(int64_t axis, size_t rank) {
  const int64_t size = static_cast<int64_t>(rank);
  if (axis < -size || axis >= size) return -1;
  return axis < 0 ? axis + size : axis;
}

const KnownValue* RuleContext::input(size_t index) const {
  if (index >= node.inputs.size() || node.inputs[index].empty()) return nullptr;
  const auto found = values_->find(node.inputs[index]);
  return found != values_->end() ? &found->second : nullptr;
}

bool RuleContext::has_integers(size_t index) const {
  return input(index) != nullptr && input(index)->has_integers;
}

std::vector<int64_t> RuleContext::integers(size_t index,
                                           const std::vector<int64_t>& otherwise) const {
  return has_integers(index) ? input(index)->integers : otherwise;
}

void RuleContext::set(size_t index, KnownValue value) {
  if (index >= node.outputs.size() || node.outputs[index].empty()) return;
  if (value.has_integers && !keeps_integers(value)) {
    value.has_integers = false;
    value.integers.clear();
  }
  (*values_)[node.outputs[index]] = std::move(value);
}

void apply_rule(RuleContext& context) {
  if (!context.node.domain.empty()) return;
  const Rule rule = rule_of(context.node.op_type);
  if (rule != nullptr) rule(context);
}

}  // namespace xsp::formats

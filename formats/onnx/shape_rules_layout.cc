// Rules of the operators that move data, or create it from shapes.
#include <algorithm>
#include <string>

#include "formats/onnx/reader.h"
#include "formats/onnx/shape_rules.h"

namespace xsp::formats {
namespace {

void constant(RuleContext& c) {
  const Attribute* value = c.node.attribute("value");
  if (value != nullptr && value->tensor.size() == 1) {
    const Tensor& tensor = value->tensor[0];
    c.set(0, {tensor.dtype, tensor.dimensions, !tensor.integers.empty(), tensor.integers});
    return;
  }
  if (c.node.attribute("value_float") != nullptr) c.set_shape(0, kFloat32, {});
  const Attribute* integer = c.node.attribute("value_int");
  if (integer != nullptr) c.set(0, {kInt64, {}, true, {integer->i}});
  const Attribute* integers = c.node.attribute("value_ints");
  if (integers != nullptr) {
    c.set(0, {kInt64, {static_cast<int64_t>(integers->ints.size())}, true, integers->ints});
  }
}

void shape_of(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr) return;
  const int64_t rank = static_cast<int64_t>(x->shape.size());
  const auto bound = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? std::max(index, -rank) + rank : index, 0, rank);
  };
  const int64_t begin = bound(c.node.integer("start", 0));
  const int64_t end = std::max(begin, bound(c.node.integer("end", rank)));
  KnownValue y = {kInt64, {end - begin}, true, {}};
  y.integers.assign(x->shape.begin() + begin, x->shape.begin() + end);
  if (std::count(y.integers.begin(), y.integers.end(), kUnknownSize) > 0) {
    y.has_integers = false;
    y.integers.clear();
  }
  c.set(0, y);
}

void reshape(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr || !c.has_integers(1)) return;
  Shape y = c.integers(1);
  if (y.size() > kMaxRank) return c.contradict("the new shape has too many dimensions");
  int64_t product = 1;
  int64_t free_axis = -1;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 0 && c.node.integer("allowzero", 0) == 0) {
      if (i >= x->shape.size())
        return c.contradict("the new shape copies a size that is not there");
      y[i] = x->shape[i];
      if (y[i] == kUnknownSize) return;
    } else if (y[i] == -1) {
      if (free_axis >= 0) return c.contradict("the new shape leaves two sizes open");
      free_axis = static_cast<int64_t>(i);
      continue;
    }
    if (y[i] < 0) return c.contradict("the new shape has a negative size");
    product = saturating_product(product, y[i]);
  }
  const int64_t elements = x->elements();
  if (free_axis >= 0) {
    if (elements < 0 || product == 0) return;
    if (elements % product != 0) return c.contradict("the new shape does not divide the elements");
    y[static_cast<size_t>(free_axis)] = elements / product;
  } else if (elements >= 0 && elements != product) {
    return c.contradict("the new shape has another number of elements");
  }
  KnownValue value = *x;
  value.shape = y;
  c.set(0, value);
}

void flatten(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr) return;
  const int64_t rank = static_cast<int64_t>(x->shape.size());
  int64_t axis = c.node.integer("axis", 1);
  if (axis < -rank || axis > rank) return c.contradict("no such axis");
  if (axis < 0) axis += rank;
  Shape y = {1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t size = x->shape[static_cast<size_t>(i)];
    int64_t& side = y[i < axis ? 0 : 1];
    side = size == kUnknownSize || side == kUnknownSize ? kUnknownSize
                                                        : saturating_product(side, size);
  }
  c.set_shape(0, x->dtype, y);
}

void transpose(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr) return;
  std::vector<int64_t> order = c.node.integers("perm");
  if (order.empty()) {
    for (size_t i = x->shape.size(); i > 0; --i) order.push_back(static_cast<int64_t>(i) - 1);
  }
  if (order.size() != x->shape.size()) return c.contradict("the order has another rank");
  Shape y;
  for (const int64_t axis : order) {
    if (resolve_axis(axis, order.size()) < 0) return c.contradict("no such axis");
    y.push_back(x->shape[static_cast<size_t>(resolve_axis(axis, order.size()))]);
  }
  c.set_shape(0, x->dtype, y);
}

void concat(RuleContext& c) {
  KnownValue y;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    const KnownValue* x = c.input(i);
    if (x == nullptr) return;
    if (i == 0) {
      y = *x;
      continue;
    }
    const int64_t axis = resolve_axis(c.node.integer("axis", 0), y.shape.size());
    if (axis < 0 || x->shape.size() != y.shape.size()) return c.contradict("ranks differ");
    int64_t& size = y.shape[static_cast<size_t>(axis)];
    const int64_t more = x->shape[static_cast<size_t>(axis)];
    size = size == kUnknownSize || more == kUnknownSize ? kUnknownSize : saturating_sum(size, more);
    y.has_integers = y.has_integers && x->has_integers && y.shape.size() == 1;
    if (!y.has_integers || y.integers.size() > kMaxKeptValues) y.integers.clear();
    if (y.has_integers) {
      y.integers.insert(y.integers.end(), x->integers.begin(), x->integers.end());
    }
  }
  if (y.has_integers && static_cast<int64_t>(y.integers.size()) != y.elements()) {
    y.has_integers = false;
  }
  if (!c.node.inputs.empty()) c.set(0, y);
}

void gather(RuleContext& c) {
  const KnownValue* x = c.input(0);
  const KnownValue* indices = c.input(1);
  if (x == nullptr || indices == nullptr) return;
  const int64_t axis = resolve_axis(c.node.integer("axis", 0), x->shape.size());
  if (axis < 0) return c.contradict("no such axis");
  KnownValue y;
  y.dtype = x->dtype;
  y.shape.assign(x->shape.begin(), x->shape.begin() + axis);
  y.shape.insert(y.shape.end(), indices->shape.begin(), indices->shape.end());
  y.shape.insert(y.shape.end(), x->shape.begin() + axis + 1, x->shape.end());
  if (y.shape.size() > kMaxRank) return c.contradict("too many dimensions");
  if (x->has_integers && indices->has_integers && x->shape.size() == 1) {
    y.has_integers = true;
    for (const int64_t index : indices->integers) {
      const int64_t at = resolve_axis(index, x->integers.size());
      if (at < 0) return c.contradict("an index is out of range");
      y.integers.push_back(x->integers[static_cast<size_t>(at)]);
    }
  }
  c.set(0, y);
}

// Returns the axes of Squeeze, Unsqueeze and reductions: an attribute in older operator sets, an
// input in newer ones.
bool axes_of(RuleContext& c, std::vector<int64_t>* axes) {
  *axes = c.node.integers("axes");
  if (!axes->empty() || c.node.inputs.size() < 2 || c.node.inputs[1].empty()) return true;
  *axes = c.integers(1);
  return c.has_integers(1);
}

void unsqueeze(RuleContext& c) {
  const KnownValue* x = c.input(0);
  std::vector<int64_t> axes;
  if (x == nullptr || !axes_of(c, &axes)) return;
  const size_t rank = x->shape.size() + axes.size();
  if (rank > kMaxRank) return c.contradict("too many dimensions");
  std::vector<bool> added(rank, false);
  for (const int64_t axis : axes) {
    const int64_t at = resolve_axis(axis, rank);
    if (at < 0 || added[static_cast<size_t>(at)]) return c.contradict("no such axis");
    added[static_cast<size_t>(at)] = true;
  }
  KnownValue y = *x;
  y.shape.clear();
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) y.shape.push_back(added[i] ? 1 : x->shape[next++]);
  c.set(0, y);
}

void squeeze(RuleContext& c) {
  const KnownValue* x = c.input(0);
  std::vector<int64_t> axes;
  if (x == nullptr || !axes_of(c, &axes)) return;
  std::vector<bool> dropped(x->shape.size(), false);
  for (size_t i = 0; axes.empty() && i < dropped.size(); ++i) dropped[i] = x->shape[i] == 1;
  for (const int64_t axis : axes) {
    const int64_t at = resolve_axis(axis, dropped.size());
    if (at < 0) return c.contradict("no such axis");
    dropped[static_cast<size_t>(at)] = true;
  }
  KnownValue y = *x;
  y.shape.clear();
  for (size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) y.shape.push_back(x->shape[i]);
  }
  c.set(0, y);
}

void reduce(RuleContext& c) {
  const KnownValue* x = c.input(0);
  std::vector<int64_t> axes;
  if (x == nullptr || !axes_of(c, &axes)) return;
  const bool keep = c.node.integer("keepdims", 1) != 0;
  std::vector<bool> reduced(x->shape.size(), axes.empty());
  for (const int64_t axis : axes) {
    const int64_t at = resolve_axis(axis, reduced.size());
    if (at < 0) return c.contradict("no such axis");
    reduced[static_cast<size_t>(at)] = true;
  }
  Shape y;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) y.push_back(x->shape[i]);
    if (reduced[i] && keep) y.push_back(1);
  }
  c.set_shape(0, x->dtype, y);
}

int64_t slice_bound(int64_t index, int64_t size, bool is_backward) {
  if (index < 0) index = std::max(index, -size - 1) + size;
  return std::clamp<int64_t>(index, is_backward ? -1 : 0, is_backward ? size - 1 : size);
}

void slice(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr || !c.has_integers(1) || !c.has_integers(2)) return;
  const std::vector<int64_t> starts = c.integers(1);
  const std::vector<int64_t> ends = c.integers(2);
  const std::vector<int64_t> axes = c.integers(3);
  const std::vector<int64_t> steps = c.integers(4);
  if (ends.size() != starts.size()) return c.contradict("starts and ends differ in number");
  KnownValue y = {x->dtype, x->shape, false, {}};
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        resolve_axis(i < axes.size() ? axes[i] : static_cast<int64_t>(i), y.shape.size());
    const int64_t step = i < steps.size() ? steps[i] : 1;
    if (axis < 0 || step == 0 || step == INT64_MIN) return c.contradict("no such slice");
    int64_t& size = y.shape[static_cast<size_t>(axis)];
    if (size == kUnknownSize) continue;
    const int64_t begin = slice_bound(starts[i], size, step < 0);
    const int64_t end = slice_bound(ends[i], size, step < 0);
    const int64_t span = step > 0 ? end - begin : begin - end;
    const int64_t stride = step > 0 ? step : -step;
    size = span <= 0 ? 0 : (span - 1) / stride + 1;
    if (x->has_integers && x->shape.size() == 1 && starts.size() == 1 && step == 1) {
      y.has_integers = true;
      for (int64_t k = begin; k < end; ++k)
        y.integers.push_back(x->integers[static_cast<size_t>(k)]);
    }
  }
  c.set(0, y);
}

void split(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr) return;
  const int64_t axis = resolve_axis(c.node.integer("axis", 0), x->shape.size());
  if (axis < 0) return c.contradict("no such axis");
  std::vector<int64_t> sizes = c.node.integers("split");
  const bool has_sizes = c.node.inputs.size() > 1 && !c.node.inputs[1].empty();
  if (has_sizes && !c.has_integers(1)) return;
  if (has_sizes) sizes = c.integers(1);
  const int64_t parts = static_cast<int64_t>(c.node.outputs.size());
  const int64_t whole = x->shape[static_cast<size_t>(axis)];
  if (parts == 0 || (sizes.empty() && whole == kUnknownSize)) return;
  int64_t left = whole;
  for (int64_t i = 0; i < parts; ++i) {
    const size_t index = static_cast<size_t>(i);
    const int64_t even = std::min((whole + parts - 1) / parts, left);
    Shape y = x->shape;
    y[static_cast<size_t>(axis)] = index < sizes.size() ? sizes[index] : even;
    left -= even;
    if (y[static_cast<size_t>(axis)] < 0) return c.contradict("a part has a negative size");
    c.set_shape(index, x->dtype, y);
  }
}

void expand(RuleContext& c) {
  const KnownValue* x = c.input(0);
  if (x == nullptr || !c.has_integers(1)) return;
  Shape y = c.integers(1);
  if (y.size() > kMaxRank) return c.contradict("too many dimensions");
  if (y.size() < x->shape.size()) y.insert(y.begin(), x->shape.size() - y.size(), 1);
  const size_t offset = y.size() - x->shape.size();
  for (size_t i = 0; i < x->shape.size(); ++i) {
    if (y[offset + i] == 1) y[offset + i] = x->shape[i];
  }
  for (const int64_t size : y) {
    if (size < kUnknownSize) return c.contradict("a negative size");
  }
  c.set_shape(0, x->dtype, y);
}

void constant_of_shape(RuleContext& c) {
  if (!c.has_integers(0)) return;
  const Shape shape = c.integers(0);
  if (shape.size() > kMaxRank) return c.contradict("too many dimensions");
  for (const int64_t size : shape) {
    if (size < 0) return c.contradict("a negative size");
  }
  const Attribute* value = c.node.attribute("value");
  const bool has_value = value != nullptr && !value->tensor.empty();
  c.set_shape(0, has_value ? value->tensor[0].dtype : kFloat32, shape);
}

}  // namespace

using Rule = void (*)(RuleContext&);

Rule layout_rule(const std::string& op_type) {
  struct Entry {
    const char* op_type;
    Rule rule;
  };
  static constexpr Entry kEntries[] = {
      {"Constant", constant}, {"Shape", shape_of},      {"Reshape", reshape},
      {"Flatten", flatten},   {"Transpose", transpose}, {"Concat", concat},
      {"Gather", gather},     {"Unsqueeze", unsqueeze}, {"Squeeze", squeeze},
      {"ReduceMean", reduce}, {"ReduceSum", reduce},    {"ReduceMax", reduce},
      {"ReduceMin", reduce},  {"ReduceL2", reduce},     {"Slice", slice},
      {"Split", split},       {"Expand", expand},       {"ConstantOfShape", constant_of_shape},
  };
  for (const Entry& entry : kEntries) {
    if (op_type == entry.op_type) return entry.rule;
  }
  return nullptr;
}

}  // namespace xsp::formats

#include "process/worker/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "process/worker/npy.h"
#include "process/worker/values.h"
#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

constexpr int64_t kSequence = 128;
constexpr int64_t kImageSide = 224;
constexpr int64_t kImageChannels = 3;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_length(std::string_view symbol) {
  return has(symbol, "seq") || has(symbol, "len") || has(symbol, "token") || has(symbol, "time") ||
         has(symbol, "past");
}

bool says_batch(const TensorSpec& spec, size_t i) {
  const std::string symbol = lower(spec.symbols[i]);
  return has(symbol, "batch") || symbol == "n" || symbol == "b" || symbol == "bs";
}

// Returns whether the model has fixed dimensions beside its dynamic ones.
bool has_fixed(const TensorSpec& spec) {
  return std::any_of(spec.dimensions.begin(), spec.dimensions.end(),
                     [](int64_t dimension) { return dimension >= 0; });
}

// Returns whether this first dimension may also stand for the batch.
bool may_be_batch(const TensorSpec& spec, size_t i) {
  return i == 0 && !says_batch(spec, i) && !is_length(lower(spec.symbols[i]));
}

// Clears symbols of "?": some exporters name every dimension so. Each of these is a separate
// unknown.
std::vector<TensorSpec> without_question_marks(std::vector<TensorSpec> specs) {
  for (TensorSpec& spec : specs) {
    for (std::string& symbol : spec.symbols) {
      if (symbol.find_first_not_of('?') == std::string::npos) symbol.clear();
    }
  }
  return specs;
}

// Returns the assumed size of a dynamic dimension that is not the batch.
int64_t default_dimension(const TensorSpec& spec, size_t i) {
  const std::string symbol = lower(spec.symbols[i]);
  if (is_length(symbol)) return kSequence;
  if (has(symbol, "height") || has(symbol, "width") || symbol == "h" || symbol == "w") {
    return kImageSide;
  }
  if (has(symbol, "channel") || symbol == "c") return kImageChannels;
  const size_t rank = spec.dimensions.size();
  const bool is_float =
      spec.dtype == XSP_FLOAT32 || spec.dtype == XSP_FLOAT16 || spec.dtype == XSP_BFLOAT16;
  if (rank == 4 && (is_float || spec.dtype == XSP_UINT8)) {
    const bool channels_last = spec.dimensions[3] > 0 && spec.dimensions[3] <= 4;
    return i == 1 && !channels_last ? kImageChannels : kImageSide;
  }
  return rank == 2 && i == 1 && !is_float ? kSequence : 1;
}

// The values of symbols, and of nameless dynamic dimensions, over all inputs.
class Dimensions {
 public:
  explicit Dimensions(const WorkerOptions& options)
      : wanted_batch_(options.batch), batch_(options.batch) {}

  // Takes the user's shape for an input, and puts the batch in place of kBatchDimension. Returns a
  // text that says what is wrong with it.
  std::optional<std::string> bind(const TensorSpec& spec, std::vector<int64_t>* shape) {
    std::vector<int64_t>& given = *shape;
    if (given.size() != spec.dimensions.size()) {
      return std::to_string(given.size()) + " dimensions instead of " +
             std::to_string(spec.dimensions.size());
    }
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string& symbol = spec.symbols[i];
      if (given[i] == kBatchDimension) given[i] = batch_.value_or(1);
      if (spec.dimensions[i] >= 0) {
        if (given[i] != spec.dimensions[i]) {
          return "dimension " + std::to_string(i) + " is fixed at " +
                 std::to_string(spec.dimensions[i]);
        }
        continue;
      }
      const bool may_be = may_be_batch(spec, i);
      const std::optional<int64_t>& batch = may_be ? wanted_batch_ : batch_;
      if (may_be || says_batch(spec, i)) {
        if (batch.has_value() && *batch != given[i]) {
          return "dimension " + std::to_string(i) + " is the batch, and the batch is " +
                 std::to_string(*batch);
        }
        take_batch(spec, i, given[i]);
      }
      if (!says_batch(spec, i) && !symbol.empty()) {
        const auto [known, is_new] = symbols_.emplace(symbol, given[i]);
        if (!is_new && known->second != given[i]) {
          return "dimension '" + symbol + "' is " + std::to_string(known->second) +
                 " in another input";
        }
      }
    }
    return std::nullopt;
  }

  // Returns a shape for an input for which the user gave none.
  std::vector<int64_t> resolve(const TensorSpec& spec, std::vector<std::string>* notes) {
    std::vector<int64_t> shape = spec.dimensions;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] >= 0) continue;
      const std::string& symbol = spec.symbols[i];
      if (says_batch(spec, i)) {
        shape[i] = batch_.value_or(guess_.value_or(1));
        take_batch(spec, i, shape[i]);
        continue;
      }
      const std::optional<int64_t> known = symbol.empty() ? std::nullopt : value_of(symbol);
      if (may_be_batch(spec, i)) {
        const bool is_default = !known && !batch_ && !guess_;
        shape[i] = known.value_or(batch_.value_or(guess_.value_or(1)));
        if (is_default) candidates_.insert(shape[i]);
        take_batch(spec, i, shape[i]);
        if (!symbol.empty()) symbols_[symbol] = shape[i];
        continue;
      }
      shape[i] = known.value_or(default_dimension(spec, i));
      if (known.has_value()) continue;
      if (!symbol.empty()) symbols_[symbol] = shape[i];
      notes->push_back("input '" + spec.name + "': dimension " + std::to_string(i) +
                       (symbol.empty() ? "" : " ('" + symbol + "')") + " is dynamic: " +
                       std::to_string(shape[i]) + " is taken: --input chooses another");
    }
    return shape;
  }

  bool batch_is_dynamic() const { return batch_is_dynamic_; }
  // Returns nothing if only the sizes can tell the batch, or if nothing can.
  std::optional<int64_t> batch() const {
    if (batch_.has_value()) return batch_;
    return candidates_.size() == 1 ? std::optional(*candidates_.begin()) : std::nullopt;
  }

 private:
  void take_batch(const TensorSpec& spec, size_t i, int64_t size) {
    batch_is_dynamic_ = true;
    if (says_batch(spec, i)) {
      batch_ = size;
    } else {
      if (!guess_.has_value()) guess_ = size;
      if (has_fixed(spec)) candidates_.insert(size);
    }
  }

  // Returns a symbol's value, or the sum of its terms if it reads "a + b" and all are known.
  std::optional<int64_t> value_of(std::string_view symbol) const {
    const auto whole = symbols_.find(symbol);
    if (whole != symbols_.end()) return whole->second;
    const size_t plus = symbol.find('+');
    if (plus != std::string_view::npos) {
      const auto left = value_of(symbol.substr(0, plus));
      const auto right = value_of(symbol.substr(plus + 1));
      if (!left.has_value() || !right.has_value()) return std::nullopt;
      return *left + *right;
    }
    while (!symbol.empty() && symbol.front() == ' ') symbol.remove_prefix(1);
    while (!symbol.empty() && symbol.back() == ' ') symbol.remove_suffix(1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), number);
    if (error == std::errc() && end == symbol.data() + symbol.size()) return number;
    const auto found = symbols_.find(symbol);
    return found == symbols_.end() ? std::nullopt : std::optional(found->second);
  }

  const std::optional<int64_t> wanted_batch_;  // --batch
  std::optional<int64_t> batch_;               // from --batch or a symbol
  std::optional<int64_t> guess_;               // for dimensions without any information
  std::set<int64_t> candidates_;               // first dimensions beside fixed ones
  bool batch_is_dynamic_ = false;
  std::map<std::string, int64_t, std::less<>> symbols_;
};

// Returns the tensor's size in bytes, or nothing if it exceeds this machine's memory.
std::optional<size_t> tensor_bytes(uint32_t dtype, const std::vector<int64_t>& dimensions) {
  size_t bytes = dtype_bytes(dtype);
  for (const int64_t dimension : dimensions) {
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(dimension), &bytes)) return std::nullopt;
  }
  const size_t memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes <= memory ? std::optional(bytes) : std::nullopt;
}

// Returns the batch if only the sizes of the inputs' first dimensions can tell it. Returns nothing
// if they do not tell it: see the header.
std::optional<int64_t> batch_of_sizes(const std::vector<Tensor>& inputs,
                                      const std::vector<TensorSpec>& outputs, std::string* why) {
  const Tensor* first = nullptr;
  bool has_images = false;
  for (const Tensor& tensor : inputs) {
    if (tensor.dimensions.empty()) continue;
    if (first == nullptr) first = &tensor;
    has_images |= tensor.dimensions.size() >= 4;
    if (tensor.dimensions[0] == first->dimensions[0]) continue;
    *why = "the inputs begin with different dimensions: '" + first->name + "' with " +
           std::to_string(first->dimensions[0]) + ", '" + tensor.name + "' with " +
           std::to_string(tensor.dimensions[0]);
    return std::nullopt;
  }
  if (first == nullptr) {
    *why = "no input has dimensions";
    return std::nullopt;
  }
  const int64_t size = first->dimensions[0];
  if (size == 1) return 1;
  const std::string begins =
      "input '" + first->name + "' begins with a dimension of " + std::to_string(size);
  for (const TensorSpec& output : outputs) {
    if (!has_images || output.dimensions.empty() || output.dimensions[0] < 0 ||
        output.dimensions[0] == size) {
      continue;
    }
    *why = begins + ", output '" + output.name + "' with " + std::to_string(output.dimensions[0]);
    return std::nullopt;
  }
  if (has_images) return size;
  *why =
      begins + ", which need not be a batch: --batch " + std::to_string(size) + " says that it is";
  return std::nullopt;
}

// Begins the note about a single integer; its text tells it from other notes.
std::string made_up_note(const std::string& input) {
  return "input '" + input + "': its value is made up";
}

class InputMaker {
 public:
  InputMaker(const std::vector<TensorSpec>& specs, const std::vector<TensorSpec>& outputs,
             const WorkerOptions& options)
      : specs_(without_question_marks(specs)),
        outputs_(outputs),
        options_(options),
        dimensions_(options) {}

  Result<Inputs> make() {
    Inputs inputs;
    inputs.tensors.resize(specs_.size());
    given_.resize(specs_.size());
    values_.resize(specs_.size());
    for (const InputOption& option : options_.inputs) XSP_CHECK_OK(take(option, &inputs));
    // Sums of symbols are resolved last: their terms may be found in a later input.
    std::vector<size_t> order(specs_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_partition(order.begin(), order.end(), [&](size_t i) {
      return std::none_of(specs_[i].symbols.begin(), specs_[i].symbols.end(),
                          [](const std::string& symbol) { return has(symbol, "+"); });
    });
    for (const size_t i : order) {
      const TensorSpec& spec = specs_[i];
      if (dtype_bytes(spec.dtype) == 0) {
        return usage("input '" + spec.name + "': its type cannot be made here: " + hint());
      }
      Tensor& tensor = inputs.tensors[i];
      tensor.name = spec.name;
      tensor.dtype = spec.dtype;
      if (!given_[i]) tensor.dimensions = dimensions_.resolve(spec, &inputs.notes);
      if (tensor.values.empty())
        XSP_CHECK_OK(make_values(values_[i], specs_[i].below, &tensor, &inputs.notes));
    }
    if (!dimensions_.batch_is_dynamic()) XSP_CHECK_OK(check_fixed_batch(inputs));
    inputs.batch = dimensions_.batch();
    if (!inputs.batch) {
      inputs.batch = batch_of_sizes(inputs.tensors, outputs_, &inputs.batch_unknown);
    }
    return inputs;
  }

 private:
  std::string hint() const { return "the model takes " + signature_text(specs_); }

  Error wrong(const std::string& name, const std::string& why) const {
    return usage("input '" + name + "': " + why + ": " + hint());
  }

  Status take(const InputOption& option, Inputs* inputs) {
    const auto spec = std::find_if(specs_.begin(), specs_.end(), [&](const TensorSpec& candidate) {
      return candidate.name == option.name;
    });
    if (spec == specs_.end()) return wrong(option.name, "the model has no such input");
    const size_t index = static_cast<size_t>(spec - specs_.begin());
    Tensor& tensor = inputs->tensors[index];
    const bool is_value = !option.value.empty();
    if (is_value ? !values_[index].empty() : given_[index]) {
      return wrong(option.name, "given twice");
    }
    if (is_value) values_[index] = option.value;
    if (!values_[index].empty() && (!option.file.empty() || !tensor.values.empty())) {
      return wrong(option.name, "its values are those of a file");
    }
    if (is_value) return Ok{};
    given_[index] = true;
    uint32_t dtype = option.dtype;
    tensor.dimensions = option.dimensions;
    if (!option.file.empty()) {
      XSP_TRY(NpyArray array, read_npy(option.file));
      dtype = array.dtype;
      tensor.dimensions = std::move(array.dimensions);
      tensor.data = std::move(array.data);
      tensor.values = "of " + option.file;
      tensor.is_given = true;
    }
    if (dtype != 0 && dtype != spec->dtype) {
      return wrong(option.name, std::string("its type is ") + dtype_name(spec->dtype) + ", not " +
                                    dtype_name(dtype));
    }
    const auto why = dimensions_.bind(*spec, &tensor.dimensions);
    if (why.has_value()) {
      return wrong(
          option.name,
          "shape " + shape_text(tensor.dimensions.data(), tensor.dimensions.size()) + ": " + *why);
    }
    return Ok{};
  }

  // `value` is the user's value; empty: values are made up.
  Status make_values(const std::string& value, uint64_t below, Tensor* tensor,
                     std::vector<std::string>* notes) const {
    const auto bytes = tensor_bytes(tensor->dtype, tensor->dimensions);
    if (!bytes.has_value()) {
      return wrong(tensor->name,
                   "shape " + shape_text(tensor->dimensions.data(), tensor->dimensions.size()) +
                       " needs more memory than the machine has");
    }
    tensor->data.resize(*bytes);
    if (!value.empty()) {
      const std::string why = fill_constant(value, tensor->dtype, &tensor->data);
      if (!why.empty()) return wrong(tensor->name, "value " + value + ": " + why);
      tensor->values = value + ", as given";
      tensor->is_given = true;
      return Ok{};
    }
    tensor->values = fill_values(tensor->name, tensor->dtype, tensor->dimensions, below,
                                 options_.seed, &tensor->data);
    if (is_lone_integer(tensor->dtype, tensor->dimensions)) {
      notes->push_back(made_up_note(tensor->name) + ", and may steer loops " + "and shapes: " +
                       tensor->values + ": --input " + tensor->name + "==VALUE chooses another");
    }
    return Ok{};
  }

  Status check_fixed_batch(const Inputs& inputs) const {
    for (const Tensor& tensor : inputs.tensors) {
      if (tensor.dimensions.empty()) continue;
      if (options_.batch.has_value() && *options_.batch != tensor.dimensions[0]) {
        return usage("batch " + std::to_string(*options_.batch) + ": the model's is fixed at " +
                     std::to_string(tensor.dimensions[0]) + ": " + hint());
      }
      return Ok{};
    }
    return Ok{};
  }

  const std::vector<TensorSpec> specs_;
  const std::vector<TensorSpec>& outputs_;
  const WorkerOptions& options_;
  Dimensions dimensions_;
  std::vector<bool> given_;          // a shape or a file was given
  std::vector<std::string> values_;  // values of --input name==value
};

}  // namespace

std::string made_up_text(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& tensor : tensors) {
    if (tensor.is_given) continue;
    const bool is_scalar = tensor.dimensions.empty();
    text += " --input " + tensor.name + (is_scalar ? "==" : "=");
    if (is_scalar) text += tensor.values.substr(0, tensor.values.find(','));
    for (size_t i = 0; i < tensor.dimensions.size(); ++i) {
      text += (i == 0 ? "" : "x") + std::to_string(tensor.dimensions[i]);
    }
  }
  return text.empty() ? text : " (made up:" + text + ")";
}

void set_values(Tensor values, size_t index, Inputs* inputs) {
  std::erase_if(inputs->notes, [&](const std::string& note) {
    return note.starts_with(made_up_note(values.name));
  });
  inputs->tensors[index] = std::move(values);
}

std::vector<TensorSpec> specs_of(const xsp_tensor_info* infos, size_t count) {
  std::vector<TensorSpec> result;
  for (size_t i = 0; i < count; ++i) {
    const xsp_tensor_info* info = xsp_tensor_info_at(infos, i);
    TensorSpec spec{info->name, info->dtype, {}, {}, 0};
    for (uint32_t d = 0; d < info->rank; ++d) {
      spec.dimensions.push_back(info->dimensions[d]);
      const char* symbol = info->symbols == nullptr ? nullptr : info->symbols[d];
      spec.symbols.emplace_back(symbol == nullptr ? "" : symbol);
    }
    if (info->struct_size >= offsetof(xsp_tensor_info, below) + sizeof info->below) {
      spec.below = info->below;
    }
    result.push_back(std::move(spec));
  }
  return result;
}

std::vector<Tensor> tensors_of(const xsp_tensor* tensors, size_t count) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < count; ++i) {
    const xsp_tensor* tensor = xsp_tensor_at(tensors, i);
    const auto* data = static_cast<const std::byte*>(tensor->data);
    result.push_back({tensor->name,
                      tensor->dtype,
                      {tensor->dimensions, tensor->dimensions + tensor->rank},
                      {data, data + tensor->data_bytes},
                      ""});
  }
  return result;
}

std::vector<xsp_tensor> views_of(const std::vector<Tensor>& tensors) {
  std::vector<xsp_tensor> views;
  for (const Tensor& tensor : tensors) {
    views.push_back({sizeof(xsp_tensor), tensor.name.c_str(), tensor.dtype,
                     static_cast<uint32_t>(tensor.dimensions.size()), tensor.dimensions.data(),
                     tensor.data.data(), tensor.data.size()});
  }
  return views;
}

std::string signature_text(const std::vector<TensorSpec>& specs) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < specs.size() && i < kShown; ++i) {
    const TensorSpec& spec = specs[i];
    text += (i == 0 ? "" : ", ") + spec.name + " " + dtype_name(spec.dtype) + "[";
    for (size_t d = 0; d < spec.dimensions.size(); ++d) {
      if (d != 0) text += ",";
      if (spec.dimensions[d] >= 0) {
        text += std::to_string(spec.dimensions[d]);
      } else {
        text += spec.symbols[d].empty() ? "?" : spec.symbols[d];
      }
    }
    text += "]";
  }
  if (specs.size() > kShown) text += " and " + std::to_string(specs.size() - kShown) + " more";
  return specs.empty() ? "no inputs" : text;
}

Result<Inputs> make_inputs(const std::vector<TensorSpec>& specs,
                           const std::vector<TensorSpec>& outputs, const WorkerOptions& options) {
  return InputMaker(specs, outputs, options).make();
}

}  // namespace xsp::process

// The first and the last bytes of a file, as numbers of the type int32.
//
// It is what magika computes: white space is left out at the outer end of the block of bytes from
// which each window is taken; what is missing is filled behind the first bytes, and before the last
// ones.
#include <algorithm>
#include <string_view>

#include "pipelines/shared/step.h"

namespace xsp::pipelines {
namespace {

constexpr int64_t kWindowMax = 1 << 24;
constexpr std::string_view kWhite = " \t\n\r\v\f";

class ByteWindow : public Step {
 public:
  explicit ByteWindow(Parameters& parameters)
      : begin_(parameters.integer("begin", 0, kWindowMax, 0)),
        end_(parameters.integer("end", 0, kWindowMax, 0)),
        block_(parameters.integer("block", 1, kWindowMax, kWindowMax)),
        strips_(parameters.truth("strip", false)),
        padding_(static_cast<int32_t>(parameters.integer("padding", INT32_MIN, INT32_MAX, 0))) {
    if (begin_ + end_ == 0) parameters.refuse("begin", "no window: give begin, end or both");
    if (block_ < std::max(begin_, end_)) {
      parameters.refuse("block", "smaller than the window: give at least the larger of its ends");
    }
  }

  Result<Type> accept(const Type& given) override {
    if (given.kind != Kind::kBytes) return usage("bytes: make it the first step, and from: bytes");
    return tensor_type(XSP_INT32, {begin_ + end_});
  }

  Result<Value> run(Value value) override {
    const std::string_view bytes(reinterpret_cast<const char*>(value.data.data()),
                                 value.data.size());
    const auto block = std::min(static_cast<size_t>(block_), bytes.size());
    std::string_view first = bytes.substr(0, block), last = bytes.substr(bytes.size() - block);
    if (strips_) {
      first.remove_prefix(std::min(first.find_first_not_of(kWhite), first.size()));
      last = last.substr(0, last.find_last_not_of(kWhite) + 1);
    }
    first = first.substr(0, static_cast<size_t>(begin_));
    last.remove_prefix(last.size() - std::min(last.size(), static_cast<size_t>(end_)));
    Value window = zeros(tensor_type(XSP_INT32, {begin_ + end_}));
    const auto numbers = window.as<int32_t>();
    std::fill(numbers.begin(), numbers.end(), padding_);
    const auto number = [](char c) { return int32_t{static_cast<uint8_t>(c)}; };
    std::transform(first.begin(), first.end(), numbers.begin(), number);
    std::transform(last.begin(), last.end(), numbers.end() - static_cast<ptrdiff_t>(last.size()),
                   number);
    return window;
  }

 private:
  const int64_t begin_, end_, block_;
  const bool strips_;
  const int32_t padding_;
};

std::unique_ptr<Step> make(Parameters& parameters) {
  return std::make_unique<ByteWindow>(parameters);
}

}  // namespace

StepKind byte_window_step() {
  return {"byte_window", "The first and the last bytes of a file, as int32.",
          "begin, end: how many of each; block: bytes from which each is taken; strip: leave white "
          "space at the outer ends out; padding: the number for what is missing",
          make};
}

}  // namespace xsp::pipelines

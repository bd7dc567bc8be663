// A step of a pipeline passes a value, with its type, to the next step.
#ifndef XSP_PIPELINES_SHARED_VALUE_H_
#define XSP_PIPELINES_SHARED_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "xsp/plugin.hpp"

namespace xsp::pipelines {

inline constexpr int64_t kSpace = -1;                 // a space in a sequence, which has no label
inline constexpr int64_t kUnknown = -1;               // a dimension that is known only when it runs
inline constexpr size_t kValueBytesMax = 1ull << 31;  // of one value

enum class Kind {
  kNothing,   // the first step needs nothing of the request
  kBytes,     // a file's content: uint8, one dimension
  kText,      // UTF-8
  kImage,     // height, width, channels; the channels' order is `colours`
  kAudio,     // samples, channels: float32; full scale is 1; `rate` samples a second
  kTensor,    // numbers
  kWindows,   // a tensor whose first dimension counts windows; the model runs once for each
  kRanking,   // classes, the best first
  kSequence,  // classes in the order in which they are read: label numbers, or kSpace
  kQuads,     // float32: for each quadrangle, x and y of its four corners in pixels of the image
};

struct Type {
  Kind kind = Kind::kTensor;
  uint32_t dtype = 0;               // xsp_dtype; 0: the kind has none
  std::vector<int64_t> dimensions;  // kUnknown: any
  std::string layout;               // of an image, or a tensor made of one: "HWC", "CHW"
  std::string colours;              // "rgb", "bgr" or "grey"
  int64_t rate = 0;                 // of audio, in Hz; kUnknown: any
  // A state has the name of the model's output that takes its place in the next window.
  std::string state_of = {};
};

// A class of a ranking.
struct Ranked {
  int64_t index = 0;
  double score = 0;
};

// The image or the audio of which a value was made; zeros: there is none.
struct Source {
  int64_t height = 0, width = 0;  // of the image as it was decoded
  int64_t samples = 0, rate = 0;  // of the audio as it was last resampled
};

struct Value {
  Type type;  // with every dimension
  std::vector<std::byte> data;
  std::vector<Ranked> ranking;  // of a ranking or a sequence
  Source source = {};
  // One for each quadrangle.
  std::vector<double> scores = {};

  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

inline Type bytes_type() { return {Kind::kBytes, XSP_UINT8, {kUnknown}, "", ""}; }
inline Type tensor_type(uint32_t dtype, std::vector<int64_t> dimensions) {
  return {Kind::kTensor, dtype, std::move(dimensions), "", ""};
}
inline Type windows_type(uint32_t dtype, std::vector<int64_t> dimensions) {
  dimensions.insert(dimensions.begin(), kUnknown);
  return {Kind::kWindows, dtype, std::move(dimensions), "", ""};
}

// Returns a text for messages, such as "int32[2048]" or "an image of uint8[?,?,3], rgb".
std::string type_text(const Type& type);
// Returns "[1,?,3]".
std::string dimensions_text(const std::vector<int64_t>& dimensions);
// Returns the dimensions of one window; those of the value itself, if it has no windows.
std::vector<int64_t> dimensions_of_window(const Type& type);
// Returns the product of the dimensions, all of which are known; -1: a value cannot be so large.
int64_t element_count(const std::vector<int64_t>& dimensions);
// Returns whether two lists of dimensions can be the same.
bool fits(const std::vector<int64_t>& one, const std::vector<int64_t>& other);
// Returns the element as a number; integers beyond 2^53 are rounded.
double number_at(const Value& value, size_t index);

// Returns a value with all elements zero.
Value zeros(Type type);

}  // namespace xsp::pipelines

#endif  // XSP_PIPELINES_SHARED_VALUE_H_

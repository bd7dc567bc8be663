// adapter.hpp: helpers for adapters written in C++, besides plugin.hpp: text for people, JSON for
// the attributes of layers, and a check whether a tensor suits an input.
//
// These are free functions without state: any thread may call them; they only throw std::bad_alloc.
#ifndef XSP_ADAPTER_HPP_
#define XSP_ADAPTER_HPP_

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "xsp/plugin.hpp"

namespace xsp {

// Returns a message on one line without a full stop, cut after `max` bytes.
inline std::string one_line(std::string_view message, size_t max = 300) {
  std::string text;
  for (const char c : valid_utf8(message)) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  if (text.size() > max) text = valid_utf8(text.substr(0, max)) + "...";
  return text;
}

// Returns a JSON string such as "a string with \"quotes\"", with the quotes around it.
inline std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      json += escaped;
    } else {
      json += c;
    }
  }
  return json + '"';
}

// Returns a JSON list such as ["a","b"].
inline std::string json_strings(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) json += (json.size() == 1 ? "" : ",") + json_string(text);
  return json + "]";
}

// Returns a JSON list such as [[1,3,224,224],[]].
inline std::string json_shapes(const std::vector<std::vector<int64_t>>& shapes) {
  std::string json = "[";
  for (const auto& shape : shapes) {
    json += json.size() == 1 ? "[" : ",[";
    for (size_t i = 0; i < shape.size(); ++i) {
      json += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    }
    json += "]";
  }
  return json + "]";
}

// Returns why a tensor does not suit this input; empty: it does.
inline std::string mismatch(const xsp_tensor_info& input, const xsp_tensor& tensor) {
  if (tensor.dtype != input.dtype) {
    return std::string("its type is ") + dtype_name(input.dtype) + ", not " +
           dtype_name(tensor.dtype);
  }
  if (tensor.rank != input.rank) {
    return "it has " + std::to_string(input.rank) + " dimensions, not " +
           std::to_string(tensor.rank);
  }
  size_t bytes = dtype_bytes(tensor.dtype);
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    const int64_t wanted = input.dimensions[d];
    const int64_t given = tensor.dimensions[d];
    if (given < 0 || (wanted >= 0 && given != wanted)) {
      return "dimension " + std::to_string(d) + " is " + std::to_string(wanted) + ", not " +
             std::to_string(given);
    }
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(given), &bytes)) {
      return "its shape is impossible";
    }
  }
  return bytes == tensor.data_bytes ? "" : "its values are not as many as its shape says";
}

// The shape of an input, given by an option because the model's file does not have it.
struct InputShape {
  std::string name;
  std::vector<int64_t> dimensions;
};

// Parses "NAME:1,3,224,224;NAME:1,10". Returns an empty list if it is malformed.
inline std::vector<InputShape> parse_input_shapes(std::string_view text) {
  std::vector<InputShape> inputs;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const size_t colon = one.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return {};
    InputShape input{std::string(one.substr(0, colon)), {}};
    const std::string shape(one.substr(colon + 1));
    const char* at = shape.c_str();
    for (bool more = true; more;) {
      char* end = nullptr;
      const int64_t dimension = std::strtoll(at, &end, 10);
      if (end == at || dimension < 1) return {};
      input.dimensions.push_back(dimension);
      more = *end == ',';
      if (!more && *end != '\0') return {};
      at = end + 1;
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Assigns threads to layers if the framework does not say where they ran, in order of their start:
// each layer takes the first free lane. The first lane is the calling thread. The other lanes are
// for overlapping layers. Their numbers are the caller's number with the lane's number above its 22
// bits (the kernel's PID_MAX_LIMIT), so that the layers' parents can be found.
class Lanes {
 public:
  static constexpr uint32_t kBits = 22;
  static constexpr size_t kMax = 1u << (32 - kBits);

  explicit Lanes(uint32_t caller) : caller_(caller) {}
  uint32_t thread(int64_t start_ns, int64_t end_ns) {
    size_t lane = 0;
    while (lane < free_ns_.size() && free_ns_[lane] > start_ns) ++lane;
    if (lane == free_ns_.size() && lane < kMax) free_ns_.push_back(0);
    lane = std::min(lane, kMax - 1);
    free_ns_[lane] = end_ns;
    return caller_ + (static_cast<uint32_t>(lane) << kBits);
  }

 private:
  uint32_t caller_;
  std::vector<int64_t> free_ns_;  // time when the last layer of each lane ended
};

}  // namespace xsp

#endif  // XSP_ADAPTER_HPP_

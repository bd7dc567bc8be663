// adapter.hpp: what most adapters written in C++ need besides plugin.hpp: text for people, JSON for
// the attributes of layers, and whether a tensor suits an input.
//
// Free functions without state: any thread; they throw std::bad_alloc alone.
#ifndef XSP_ADAPTER_HPP_
#define XSP_ADAPTER_HPP_

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "xsp/plugin.hpp"

namespace xsp {

// A message on one line without a full stop, cut behind `max` bytes.
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

// "a string with \"quotes\"", with the quotes around it.
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

// ["a","b"]
inline std::string json_strings(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) json += (json.size() == 1 ? "" : ",") + json_string(text);
  return json + "]";
}

// [[1,3,224,224],[]]
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

// Why a tensor is not one for this input; empty: it is.
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

}  // namespace xsp

#endif  // XSP_ADAPTER_HPP_

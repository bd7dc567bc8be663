// plugin.hpp: the functions that every adapter written in C++ needs on top of plugin.h. Header
// only.
#ifndef XSP_PLUGIN_HPP_
#define XSP_PLUGIN_HPP_

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "xsp/plugin.h"

namespace xsp {

inline xsp_status fail(const xsp_host* host, xsp_status status, const std::string& text) {
  host->fail(host->context, text.c_str());
  return status;
}
inline void note(const xsp_host* host, const std::string& text) {
  host->note(host->context, text.c_str());
}

// Calls `call`, which returns an xsp_status; an exception becomes a failure. The body of every
// function of an adapter goes through it, because exceptions must not cross the C interface.
template <typename Call>
xsp_status guarded(const xsp_host* host, Call&& call) noexcept {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    host->fail(host->context, "out of memory: the model needs more than there is");
    return XSP_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    host->fail(host->context, error.what());
    return XSP_FAILED;
  } catch (...) {
    host->fail(host->context, "the framework threw an exception of unknown type");
    return XSP_FAILED;
  }
}

// Fills a struct of the caller: copies as much of `full` as fits, struct_size included.
template <typename Struct>
void fill(Struct* target, Struct full) noexcept {
  full.struct_size = target->struct_size < sizeof full ? target->struct_size : sizeof full;
  std::memcpy(target, &full, full.struct_size);
}

// Returns a whole Struct from one that the caller filled, which may be older and smaller, or newer
// and larger. Members that it does not reach are zero.
template <typename Struct>
Struct whole(const Struct* given) noexcept {
  Struct result{};
  std::memcpy(&result, given,
              given->struct_size < sizeof result ? given->struct_size : sizeof result);
  result.struct_size = sizeof result;
  return result;
}

// Returns the size of the UTF-8 character at the beginning of `text`; 0 if it is not one.
inline size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and values beyond Unicode.
  const uint32_t second = byte(1);
  const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_wrong ? 0 : size;
}

// Returns the text with every byte that is not part of UTF-8 replaced by '?'. Models may name their
// parts in any bytes, but xsp keeps only text.
inline std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    if (bytes == 0) {
      valid += '?';
      text.remove_prefix(1);
    } else {
      valid += text.substr(0, bytes);
      text.remove_prefix(bytes);
    }
  }
  return valid;
}

// Returns the size of one element in bytes; 0 for an unknown type.
inline size_t dtype_bytes(uint32_t dtype) noexcept {
  switch (dtype) {
    case XSP_UINT8:
    case XSP_INT8:
    case XSP_BOOL:
      return 1;
    case XSP_UINT16:
    case XSP_INT16:
    case XSP_FLOAT16:
    case XSP_BFLOAT16:
      return 2;
    case XSP_FLOAT32:
    case XSP_INT32:
    case XSP_UINT32:
      return 4;
    case XSP_INT64:
    case XSP_FLOAT64:
    case XSP_UINT64:
      return 8;
    default:
      return 0;
  }
}

// Returns the name of an element type, as everywhere in xsp: "float32".
inline const char* dtype_name(uint32_t dtype) noexcept {
  switch (dtype) {
    case XSP_FLOAT32:
      return "float32";
    case XSP_UINT8:
      return "uint8";
    case XSP_INT8:
      return "int8";
    case XSP_UINT16:
      return "uint16";
    case XSP_INT16:
      return "int16";
    case XSP_INT32:
      return "int32";
    case XSP_INT64:
      return "int64";
    case XSP_BOOL:
      return "bool";
    case XSP_FLOAT16:
      return "float16";
    case XSP_FLOAT64:
      return "float64";
    case XSP_UINT32:
      return "uint32";
    case XSP_UINT64:
      return "uint64";
    case XSP_BFLOAT16:
      return "bfloat16";
    default:
      return "unknown";
  }
}

}  // namespace xsp

#endif  // XSP_PLUGIN_HPP_

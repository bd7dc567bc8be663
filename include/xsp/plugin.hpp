// plugin.hpp: what every adapter written in C++ needs on top of plugin.h. Header only.
#ifndef XSP_PLUGIN_HPP_
#define XSP_PLUGIN_HPP_

#include <cstring>
#include <exception>
#include <new>
#include <string>
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

// Calls `call`, which returns an xsp_status; what it throws becomes a failure. The body of every
// function of an adapter goes through it, as exceptions must not cross the C interface.
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

// Fills a struct that the caller has room for: as much of `full` as fits, struct_size included.
template <typename Struct>
void fill(Struct* target, Struct full) noexcept {
  full.struct_size = target->struct_size < sizeof full ? target->struct_size : sizeof full;
  std::memcpy(target, &full, full.struct_size);
}

// A whole Struct from one that the caller filled, which may be older and smaller, or newer and
// larger: what it does not reach is zero.
template <typename Struct>
Struct whole(const Struct* given) noexcept {
  Struct result{};
  std::memcpy(&result, given,
              given->struct_size < sizeof result ? given->struct_size : sizeof result);
  result.struct_size = sizeof result;
  return result;
}

// Bytes of one element; 0 for a type that is unknown here.
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

// The name of an element type, as everywhere in xsp: "float32".
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

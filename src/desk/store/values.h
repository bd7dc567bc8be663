// Reads the cells of a result.
#ifndef XSP_DESK_STORE_VALUES_H_
#define XSP_DESK_STORE_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "desk/store/database.h"

namespace xsp::store {

inline std::optional<double> maybe_double(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

// A sum of integers is a HUGEINT, and arrives as a double.
inline std::optional<int64_t> maybe_int(const Value& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return static_cast<int64_t>(*real);
  return std::nullopt;
}

inline int64_t int_of(const Value& value) { return maybe_int(value).value_or(0); }

inline std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace xsp::store

#endif  // XSP_DESK_STORE_VALUES_H_

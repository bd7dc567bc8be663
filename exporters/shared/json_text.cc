#include "exporters/shared/json_text.h"

#include <charconv>
#include <cmath>

namespace xsp::exporters {

void put_text(std::string* out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (byte < 0x20) {
      out->append("\\u00");
      out->push_back(kHex[byte >> 4]);
      out->push_back(kHex[byte & 15]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

void put_number(std::string* out, double value) {
  if (!std::isfinite(value)) {
    out->append("null");
    return;
  }
  char digits[32];
  out->append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void put_number(std::string* out, int64_t value) { out->append(std::to_string(value)); }

void put_microseconds(std::string* out, int64_t ns) {
  const int64_t part = std::abs(ns % 1000);
  if (ns < 0 && ns > -1000) out->push_back('-');
  out->append(std::to_string(ns / 1000));
  out->push_back('.');
  out->push_back(static_cast<char>('0' + part / 100));
  out->push_back(static_cast<char>('0' + part / 10 % 10));
  out->push_back(static_cast<char>('0' + part % 10));
}

}  // namespace xsp::exporters

#include "desk/site/addresses.h"

#include <cctype>
#include <cstddef>

#include "desk/manifest/sha256.h"

namespace xsp::site {

std::string model_page(const std::string& model) { return "models/" + file_name(model) + ".html"; }

std::string system_page(const std::string& fingerprint) {
  return "systems/" + file_name(fingerprint) + ".html";
}

std::string root_of(const std::string& address) {
  return address.find('/') == std::string::npos ? "" : "../";
}

std::string file_name(const std::string& text) {
  std::string name;
  bool is_changed = false;
  for (const char c : text) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    name += is_plain ? c : '-';
    is_changed = is_changed || !is_plain;
  }
  constexpr size_t kLongest = 80;
  is_changed = is_changed || name.size() > kLongest || name.empty() || name[0] == '.';
  if (!is_changed) return name;
  return name.substr(0, kLongest) + "-" + manifest::sha256_of(text).substr(0, 8);
}

}  // namespace xsp::site

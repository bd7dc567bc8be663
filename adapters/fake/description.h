// The description of a model of the adapter `fake`; adapters/fake.cc explains the settings.
#ifndef XSP_ADAPTERS_FAKE_DESCRIPTION_H_
#define XSP_ADAPTERS_FAKE_DESCRIPTION_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace xsp::fake {

inline constexpr int64_t kAtOpen = -2;
inline constexpr int64_t kNever = -1;

struct Description {
  int64_t layers = 4;
  int64_t us = 100;
  int64_t width = 8;
  int64_t threads = 1;
  bool sleeps = false;
  bool nested = false;
  bool late = false;
  bool tokens = false;
  bool cuda = false;
  std::string fault;
  int64_t fault_at = kNever;
  bool fault_with_layers = false;  // only if layers are recorded
  int64_t fault_above = -1;        // only at larger batches
};

inline constexpr int64_t kLayersMax = 10'000;
inline constexpr int64_t kThreadsMax = 64;
inline constexpr int64_t kWidthMax = 1 << 20;
inline constexpr int64_t kMicrosecondsMax = 100'000'000;

inline bool parse_number(std::string_view text, int64_t min, int64_t max, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= min &&
         *number <= max;
}

inline bool parse_fault(std::string_view text, Description* description) {
  const size_t at = text.find('@');
  if (at == std::string_view::npos) return false;
  description->fault = text.substr(0, at);
  bool is_known = false;
  for (const char* kind : {"crash", "kill", "hang", "memory", "fail", "exit"}) {
    is_known |= description->fault == kind;
  }
  description->fault_at = kAtOpen;
  return is_known && (text.substr(at + 1) == "open" ||
                      parse_number(text.substr(at + 1), 0, INT64_MAX, &description->fault_at));
}

inline bool parse_setting(std::string_view key, std::string_view value, Description* description) {
  if (key == "layers") return parse_number(value, 1, kLayersMax, &description->layers);
  if (key == "us") return parse_number(value, 0, kMicrosecondsMax, &description->us);
  if (key == "width") return parse_number(value, 1, kWidthMax, &description->width);
  if (key == "threads") return parse_number(value, 1, kThreadsMax, &description->threads);
  if (key == "fault") return parse_fault(value, description);
  if (key == "above") return parse_number(value, 0, INT64_MAX, &description->fault_above);
  if (key == "when") return description->fault_with_layers = value == "layer";
  if (key == "wait") {
    description->sleeps = value == "sleep";
    return value == "sleep" || value == "spin";
  }
  if (!value.empty()) return false;
  if (key == "nested") return description->nested = true;
  if (key == "late") return description->late = true;
  if (key == "tokens") return description->tokens = true;
  if (key == "cuda") return description->cuda = true;
  return false;
}

// Returns an error's text, or nothing.
inline std::optional<std::string> parse_description(std::string text, Description* description) {
  if (text.rfind("fake:", 0) != 0) return "does not begin with 'fake:'";
  for (char& c : text) {
    if (c == ',' || c == '\n' || c == '\t') c = ' ';
  }
  std::istringstream settings(text.substr(5));
  for (std::string setting; settings >> setting;) {
    const size_t equals = setting.find('=');
    const std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
    if (!parse_setting(setting.substr(0, equals), value, description)) {
      return "'" + setting + "' is not understood";
    }
  }
  return std::nullopt;
}

}  // namespace xsp::fake

#endif  // XSP_ADAPTERS_FAKE_DESCRIPTION_H_

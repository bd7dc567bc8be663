#include "shared/base/text.h"

#include <algorithm>

namespace xsp {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr size_t kShownBytes = 60;  // bytes of an argument that an error shows

// Returns the size of the UTF-8 character at the beginning of `text`; 0: there is none.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t count = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < count) return 0;
  for (size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and values beyond the last character.
  const unsigned char second = byte(1);
  if (lead == 0xE0 && second < 0xA0) return 0;
  if (lead == 0xED && second > 0x9F) return 0;
  if (lead == 0xF0 && second < 0x90) return 0;
  if (lead == 0xF4 && second > 0x8F) return 0;
  return count;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

}  // namespace

CheckedText check_text(std::string_view text, size_t bytes_max) {
  CheckedText checked;
  const auto note = [&](const char* fault) {
    if (checked.ok()) checked.fault = fault;
  };
  checked.text.reserve(std::min(text.size(), bytes_max));
  while (!text.empty()) {
    const size_t count = character_bytes(text);
    const bool is_wrong = count == 0 || is_control(text[0]);
    if (count == 0) note("not UTF-8");
    if (count == 1 && is_wrong) note("holds a control character");
    const std::string_view kept = is_wrong ? kReplacement : text.substr(0, count);
    if (checked.text.size() + kept.size() > bytes_max) {
      note("too long");
      break;
    }
    checked.text += kept;
    text.remove_prefix(std::max<size_t>(1, count));
  }
  return checked;
}

Status require_text(std::string_view what, std::string_view text, size_t bytes_max) {
  const CheckedText checked = check_text(text, bytes_max);
  if (checked.ok()) return Ok{};
  std::string shown = check_text(checked.text, kShownBytes).text;
  if (shown.size() < checked.text.size()) shown += "...";
  return usage(std::string(what) + " '" + shown + "': " + checked.fault + ": give plain text");
}

std::string keep_text(std::string_view text, uint64_t& replaced) {
  CheckedText checked = check_text(text);
  if (!checked.ok()) ++replaced;
  return std::move(checked.text);
}

}  // namespace xsp

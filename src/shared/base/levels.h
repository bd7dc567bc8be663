// The names of the stack's levels. This is the only place in C++ that spells them.
#ifndef XSP_SHARED_BASE_LEVELS_H_
#define XSP_SHARED_BASE_LEVELS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "xsp/xsp.h"

namespace xsp {

// The index is the level's number, XSP_LEVEL_*; there is no level 0.
inline constexpr std::string_view kLevelNames[] = {"",        "application", "model", "layer",
                                                   "library", "api",         "kernel"};
inline constexpr const char* kLevelChoice = "application, model, layer, library, api, kernel";

// Returns an empty text if there is no such level.
constexpr std::string_view level_name(uint32_t level) {
  return level <= XSP_LEVEL_KERNEL ? kLevelNames[level] : std::string_view();
}

// Returns the level's number; 0 if there is no level of that name.
constexpr uint32_t level_named(std::string_view name) {
  for (uint32_t level = XSP_LEVEL_APPLICATION; level <= XSP_LEVEL_KERNEL; ++level) {
    if (kLevelNames[level] == name) return level;
  }
  return 0;
}

// Returns the bits of the levels in a list such as "model,layer", or of all levels for "all"; 0 if
// any item is neither. It neither allocates nor throws, because the recorded process calls it.
constexpr uint32_t levels_named(std::string_view list) {
  uint32_t levels = 0;
  for (;;) {
    size_t size = 0;
    while (size < list.size() && list[size] != ',') ++size;
    const std::string_view name(list.data(), size);
    const uint32_t level = level_named(name);
    if (level == 0 && name != "all") return 0;
    levels |= level == 0 ? XSP_LEVELS_ALL : XSP_LEVEL_BIT(level);
    if (size == list.size()) return levels;
    list.remove_prefix(size + 1);
  }
}

// Returns the text of a set of bits: "model,layer".
inline std::string levels_text(uint32_t levels) {
  std::string text;
  for (uint32_t level = XSP_LEVEL_APPLICATION; level <= XSP_LEVEL_KERNEL; ++level) {
    if ((levels & XSP_LEVEL_BIT(level)) == 0) continue;
    if (!text.empty()) text += ',';
    text += level_name(level);
  }
  return text;
}

}  // namespace xsp

#endif  // XSP_SHARED_BASE_LEVELS_H_

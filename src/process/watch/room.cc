#include "process/watch/room.h"

#include "xsp/xsp.h"

namespace xsp::process {
namespace {

// The levels of a part are given up together, and the parts in this order. The application's own
// spans come last; steps and processes are recorded whatever the levels are.
constexpr uint32_t kParts[] = {XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY) | XSP_LEVEL_BIT(XSP_LEVEL_API) |
                                   XSP_LEVEL_BIT(XSP_LEVEL_KERNEL),
                               XSP_LEVEL_BIT(XSP_LEVEL_LAYER), XSP_LEVEL_BIT(XSP_LEVEL_MODEL),
                               XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION)};

}  // namespace

uint32_t levels_without_room(uint64_t bytes, uint64_t max_bytes, uint32_t recorded,
                             uint32_t before) {
  if (max_bytes == 0) return before;
  uint32_t given_up = before;
  uint64_t left = max_bytes;
  for (const uint32_t part : kParts) {
    if ((recorded & part) == 0) continue;
    left /= 2;
    if (bytes < max_bytes - left) break;
    given_up |= part;
  }
  return given_up;
}

}  // namespace xsp::process

#include "desk/watch/room.h"

#include <array>
#include <cstdio>

#include "desk/experiment/plan.h"
#include "shared/base/levels.h"

namespace xsp::watch {
namespace {

std::string size_text(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", value, kUnits[unit]);
  return text;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace

uint64_t usual_limit_bytes(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error ? 0 : space.available / 2;
}

std::string note_of_room(const TraceRoom& room) {
  if (room.given_up.empty() && room.left_out == 0) return "";
  std::string text = "the traces came near their limit of " + size_text(room.bytes_max) + ": ";
  std::string parts;
  for (const TraceRoom::GivenUp& one : room.given_up) {
    parts += (parts.empty() ? "" : ", ") + levels_text(one.levels) + " from " +
             seconds_text(one.after_s) + " on";
  }
  if (!parts.empty()) text += "not recorded are " + parts;
  if (room.left_out > 0) {
    text += (parts.empty() ? "" : "; ") + std::to_string(room.left_out) +
            (room.left_out == 1 ? " process was" : " processes were") + " not recorded";
  }
  return text +
         ": ask for fewer levels, for a part (--steps, --duration), or for more (--max-size)";
}

Status mark_runs_without_room(store::Database& database, const TraceRoom& room) {
  for (const TraceRoom::GivenUp& one : room.given_up) {
    XSP_CHECK_OK(
        database.query("UPDATE run SET stopped_by = 'size' "
                       "WHERE list_has_any(string_split(levels, ','), string_split($levels, ','))",
                       {{"levels", levels_text(one.levels)}}));
  }
  return Ok{};
}

}  // namespace xsp::watch

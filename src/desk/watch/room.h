// Reports the data that an evaluation lost to the limit on the size of traces, in words and in its
// tables.
//
// Thread rule: none of its own.
#ifndef XSP_DESK_WATCH_ROOM_H_
#define XSP_DESK_WATCH_ROOM_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "desk/store/database.h"
#include "desk/watch/control.h"
#include "shared/base/result.h"

namespace xsp::watch {

// Returns the default limit: half of the free space of the folder, or 0 if that is not known.
uint64_t usual_limit_bytes(const std::filesystem::path& folder);

// Returns one line for the user. Returns an empty string if nothing was left out.
std::string note_of_room(const TraceRoom& room);

// Sets `stopped_by` of the runs that recorded a level which was given up: they ended for lack of
// space.
Status mark_runs_without_room(store::Database& database, const TraceRoom& room);

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_ROOM_H_

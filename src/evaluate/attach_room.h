// What a limit on the size of traces took from an evaluation, in words and in its tables.
//
// Thread rule: none of its own.
#ifndef XSP_EVALUATE_ATTACH_ROOM_H_
#define XSP_EVALUATE_ATTACH_ROOM_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "evaluate/attach_control.h"
#include "store/database.h"

namespace xsp::evaluate {

// The limit where none was asked for: half of what is free there; 0 where that is not known.
uint64_t usual_limit_bytes(const std::filesystem::path& folder);

// One line for people; empty: all that was asked for is there.
std::string note_of_room(const TraceRoom& room);

// Runs that were recorded with levels which were given up ended for want of room (`stopped_by`).
Status mark_runs_without_room(store::Database& database, const TraceRoom& room);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_ROOM_H_

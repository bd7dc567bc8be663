// Room decides which levels are given up as the traces of a run approach their size limit, the
// deepest first.
//
//   0 ........ 1/2 ..... 3/4 ... 7/8 . 15/16 .. limit
//   all levels | then without calls, kernels | layers | ...   nothing more is written
//
// The rest of the room is for the higher levels, each of which takes less. So a long run keeps its
// steps and models to the end, and the details of its beginning. A part that no process records is
// skipped. Overwriting the oldest spans was rejected: every file is append-only, and the beginning
// shows what the first steps cost.
//
// These are pure functions: any thread may call them.
#ifndef XSP_PROCESS_WATCH_ROOM_H_
#define XSP_PROCESS_WATCH_ROOM_H_

#include <cstdint>

namespace xsp::process {

// Returns the bits of the levels to give up, including those of `before`. `bytes` were written, of
// at most `max_bytes` (0: no limit). `before` has the levels that were given up so far. `recorded`
// has the levels that any process records.
uint32_t levels_without_room(uint64_t bytes, uint64_t max_bytes, uint32_t recorded,
                             uint32_t before);

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_ROOM_H_

// Room: which levels are given up as the traces of a run come near their size limit, deepest first.
//
//   0 ........ 1/2 ..... 3/4 ... 7/8 . 15/16 .. limit
//   all levels | then without calls, kernels | layers | ...   nothing more is written
//
// What is left of the room is for the levels above, each of which takes less: so a long run keeps
// its steps and its models to the end, and the details of its beginning. A part that nobody records
// is passed over. Refused: to overwrite the oldest spans, as every file is only ever appended to,
// and the beginning is what tells what the first steps cost.
//
// Pure functions: any thread.
#ifndef XSP_CAPTURE_ATTACH_ROOM_H_
#define XSP_CAPTURE_ATTACH_ROOM_H_

#include <cstdint>

namespace xsp::capture {

// Bits of the levels that are given up where so many bytes were written of at most `max_bytes` (0:
// any number), `before` were given up so far, and `recorded` are those that anybody records. Bits
// of `before` are in it.
uint32_t levels_without_room(uint64_t bytes, uint64_t max_bytes, uint32_t recorded,
                             uint32_t before);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_ROOM_H_

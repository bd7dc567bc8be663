/* What XLA's CPU backend executed, as its profiler recorded it: instructions of HLO, which become
 * spans of the level layer.
 *
 * The record is an XSpace (tsl/profiler/protobuf/xplane.proto, whose field numbers are used here).
 * Its times count from the profiler's start, and its threads are numbers of its own: anchors,
 * events that we put into it ourselves, tell which is which.
 *
 * An instruction runs on the thread that called the program, or on one of XLA's own while that one
 * waits. It is shown on the caller's thread, inside the call, unless another instruction of the
 * same program ran there at that time: then on a lane of that thread (see Lanes in
 * xsp/adapter.hpp).
 *
 * Threads: one call at a time. */
#ifndef XSP_PYTHON_XSP_XPLANE_H_
#define XSP_PYTHON_XSP_XPLANE_H_

#include <stddef.h>
#include <stdint.h>

/* An event "xsp I" of the record, I its place in the list: begun between `before_ns` and
 * `inside_ns`, ended between `inside_ns` and `after_ns`, by the clock of xsp_now_ns, on a thread.
 */
typedef struct XplaneAnchor {
  uint32_t thread;
  int64_t before_ns;
  int64_t inside_ns;
  int64_t after_ns;
} XplaneAnchor;

/* Where spans of an instruction go. `site` 0: nowhere. `is_control`: it runs others inside itself
 * (while, call, conditional), maybe on another thread. */
typedef struct XplaneSite {
  uint32_t site;
  int is_control;
} XplaneSite;

/* Texts are not terminated. Called once for each instruction of a record, or a few times. */
typedef struct XplaneText {
  const char* at;
  size_t size;
} XplaneText;
typedef XplaneSite (*XplaneSiteOf)(void* context, int64_t program_id, XplaneText module,
                                   XplaneText instruction);

/* Emits the spans of a record; returns how many, or -1 where it has no anchor or there is no
 * memory. What is broken in it is left out. */
int64_t xsp_xplane_emit(const uint8_t* record, size_t size, const XplaneAnchor* anchors,
                        size_t anchor_count, XplaneSiteOf site_of, void* context);

#endif /* XSP_PYTHON_XSP_XPLANE_H_ */

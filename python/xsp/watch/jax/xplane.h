/* The instructions of HLO that XLA's CPU backend executed, as its profiler recorded them. They
 * become spans of the level layer.
 *
 * The record is an XSpace (tsl/profiler/protobuf/xplane.proto, whose field numbers are used here).
 * Its times count from the profiler's start, and it numbers threads in its own way. Anchors, events
 * that xsp itself puts into the record, relate both to the process.
 *
 * An instruction runs on the thread that called the program, or on one of XLA's own threads while
 * that one waits. It is shown on the caller's thread, inside the call. If another instruction of
 * the same program ran there at that time, it is shown on a lane of that thread (see Lanes in
 * xsp/adapter.hpp).
 *
 * One call may run at a time. */
#ifndef XSP_PYTHON_XSP_WATCH_JAX_XPLANE_H_
#define XSP_PYTHON_XSP_WATCH_JAX_XPLANE_H_

#include <stddef.h>
#include <stdint.h>

/* An event "xsp I" of the record, where I is its place in the list. By the clock of xsp_now_ns it
 * began between `before_ns` and `inside_ns`, and ended between `inside_ns` and `after_ns`, on
 * `thread`. */
typedef struct XplaneAnchor {
  uint32_t thread;
  int64_t before_ns;
  int64_t inside_ns;
  int64_t after_ns;
} XplaneAnchor;

/* Tells the site for spans of an instruction; `site` 0: they are not emitted. `is_control`: it runs
 * other instructions inside itself (while, call, conditional), maybe on another thread. */
typedef struct XplaneSite {
  uint32_t site;
  int is_control;
} XplaneSite;

/* Refers to a text without a terminator. An XplaneSiteOf is called once for each instruction of a
 * record, or a few times. */
typedef struct XplaneText {
  const char* at;
  size_t size;
} XplaneText;
typedef XplaneSite (*XplaneSiteOf)(void* context, int64_t program_id, XplaneText module,
                                   XplaneText instruction);

/* Emits the spans of a record. Returns their number, or -1 if the record has no anchor or there is
 * no memory. Malformed parts are left out. */
int64_t xsp_xplane_emit(const uint8_t* record, size_t size, const XplaneAnchor* anchors,
                        size_t anchor_count, XplaneSiteOf site_of, void* context);

#endif /* XSP_PYTHON_XSP_WATCH_JAX_XPLANE_H_ */

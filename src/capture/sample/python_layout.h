// Where CPython keeps its interpreters, threads, frames and code, by version: 3.8 to 3.13. Offsets
// in bytes; -1: that version has none.
#ifndef XSP_CAPTURE_SAMPLE_PYTHON_LAYOUT_H_
#define XSP_CAPTURE_SAMPLE_PYTHON_LAYOUT_H_

#include <stdint.h>

#include "capture/sample/memory.h"

namespace xsp::capture {

struct PythonLayout {
  uint32_t version;       // major << 8 | minor
  uint32_t interpreters;  // in _PyRuntime: the first interpreter
  struct {
    uint32_t next, threads;
  } interpreter;
  struct {
    int32_t in_runtime;      // the lock itself
    int32_t of_interpreter;  // in an interpreter: the lock's address; 0: it is the runtime's
    uint32_t bytes, locked, holder;
  } gil;
  struct {
    uint32_t next, frame;
    int32_t frame_of_cframe;  // there is one step more to the frame
    uint32_t id;              // pthread_self()
    int32_t native_id, chunk;
  } thread;
  struct {
    uint32_t code, back, instruction;
    int32_t owner;
    uint32_t bytes;
  } frame;
  struct {
    uint32_t type, filename, name;
    int32_t qualname;
    uint32_t lines, first_line;
    int32_t bytecode;
  } code;
  struct {
    uint32_t length, state, ascii, compact;
  } text;
  struct {
    uint32_t length, data;
  } bytes;

  // From 3.11 on a frame holds the address of its instruction, before that its number.
  bool has_addresses() const { return code.bytecode >= 0; }
};

// Bytes of the structures above, of which the largest offset is known to be smaller.
inline constexpr uint32_t kThreadBytesMax = 320;
inline constexpr uint32_t kFrameBytesMax = 112;
inline constexpr uint32_t kCodeBytesMax = 208;
inline constexpr uint32_t kOwnerOfC = 3;  // and above: a frame that stands for C code

// The layout of the interpreter whose _PyRuntime is at that address. nullptr: its version is not
// known, or it is not what the version promises. From 3.13 on the interpreter says itself where
// things are. `own` is where that is kept.
const PythonLayout* find_python_layout(const OwnMemory& memory, uint64_t runtime, uint32_t version,
                                       PythonLayout* own);

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_PYTHON_LAYOUT_H_

// The places of interpreters, threads, frames and code in CPython's memory, by version: 3.8 to
// 3.13. Offsets are in bytes; -1: that version has no such field.
//
// python/layout/print.c prints the offsets of 3.8 to 3.12 from CPython's headers; from 3.13 on they
// come from the interpreter's own _Py_DebugOffsets. An unknown version is reported, not guessed.
// Refused: DWARF of the interpreter, which distributions strip.
#ifndef XSP_PROCESS_SAMPLE_PYTHON_LAYOUT_H_
#define XSP_PROCESS_SAMPLE_PYTHON_LAYOUT_H_

#include <stdint.h>

#include "process/sample/memory.h"

namespace xsp::process {

struct PythonLayout {
  uint32_t version;       // major << 8 | minor
  uint32_t interpreters;  // in _PyRuntime: the first interpreter
  struct {
    uint32_t next, threads;
  } interpreter;
  struct {
    int32_t in_runtime;      // the lock itself
    int32_t of_interpreter;  // offset of the lock's address in an interpreter; 0: in the runtime
    uint32_t bytes, locked, holder;
  } gil;
  struct {
    uint32_t next, frame;
    int32_t frame_of_cframe;  // offset from a cframe, which is one more step to the frame
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

  // From 3.11 on a frame holds the address of its instruction, earlier the instruction's number.
  bool has_addresses() const { return code.bytecode >= 0; }
};

// These are the sizes of the structures above. Their largest offsets are checked to be smaller.
inline constexpr uint32_t kThreadBytesMax = 320;
inline constexpr uint32_t kFrameBytesMax = 112;
inline constexpr uint32_t kCodeBytesMax = 208;
inline constexpr uint32_t kOwnerOfC = 3;  // this value and above: the frame stands for C code

// Returns the layout of the interpreter whose _PyRuntime is at that address. Returns nullptr if its
// version is not known, or if the memory does not match the version. From 3.13 on the interpreter
// itself publishes the offsets; `own` stores them.
const PythonLayout* find_python_layout(const OwnMemory& memory, uint64_t runtime, uint32_t version,
                                       PythonLayout* own);

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_PYTHON_LAYOUT_H_

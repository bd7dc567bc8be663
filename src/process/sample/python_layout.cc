#include "process/sample/python_layout.h"

#include <string.h>

namespace xsp::process {
namespace {

// This table is printed by python/layout/print.c.
constexpr PythonLayout kLayouts[] = {
    {.version = 0x0308,
     .interpreters = 32,
     .interpreter = {.next = 0, .threads = 8},
     .gil = {.in_runtime = 1152, .of_interpreter = 0, .bytes = 208, .locked = 16, .holder = 8},
     .thread =
         {.next = 8, .frame = 24, .frame_of_cframe = -1, .id = 176, .native_id = -1, .chunk = -1},
     .frame = {.code = 32, .back = 24, .instruction = 104, .owner = -1, .bytes = 360},
     .code = {.type = 8,
              .filename = 104,
              .name = 112,
              .qualname = -1,
              .lines = 120,
              .first_line = 40,
              .bytecode = -1},
     .text = {.length = 16, .state = 32, .ascii = 48, .compact = 72},
     .bytes = {.length = 16, .data = 32}},
    {.version = 0x0309,
     .interpreters = 32,
     .interpreter = {.next = 0, .threads = 8},
     .gil = {.in_runtime = 352, .of_interpreter = 0, .bytes = 208, .locked = 16, .holder = 8},
     .thread =
         {.next = 8, .frame = 24, .frame_of_cframe = -1, .id = 176, .native_id = -1, .chunk = -1},
     .frame = {.code = 32, .back = 24, .instruction = 104, .owner = -1, .bytes = 360},
     .code = {.type = 8,
              .filename = 104,
              .name = 112,
              .qualname = -1,
              .lines = 120,
              .first_line = 40,
              .bytecode = -1},
     .text = {.length = 16, .state = 32, .ascii = 48, .compact = 72},
     .bytes = {.length = 16, .data = 32}},
    {.version = 0x030a,
     .interpreters = 32,
     .interpreter = {.next = 0, .threads = 8},
     .gil = {.in_runtime = 352, .of_interpreter = 0, .bytes = 208, .locked = 16, .holder = 8},
     .thread =
         {.next = 8, .frame = 24, .frame_of_cframe = -1, .id = 176, .native_id = -1, .chunk = -1},
     .frame = {.code = 32, .back = 24, .instruction = 96, .owner = -1, .bytes = 352},
     .code = {.type = 8,
              .filename = 104,
              .name = 112,
              .qualname = -1,
              .lines = 120,
              .first_line = 40,
              .bytecode = -1},
     .text = {.length = 16, .state = 32, .ascii = 48, .compact = 72},
     .bytes = {.length = 16, .data = 32}},
    {.version = 0x030b,
     .interpreters = 40,
     .interpreter = {.next = 0, .threads = 16},
     .gil = {.in_runtime = 360, .of_interpreter = 0, .bytes = 208, .locked = 16, .holder = 8},
     .thread =
         {.next = 8, .frame = 56, .frame_of_cframe = 8, .id = 152, .native_id = 160, .chunk = 296},
     .frame = {.code = 32, .back = 48, .instruction = 56, .owner = 69, .bytes = 72},
     .code = {.type = 8,
              .filename = 112,
              .name = 120,
              .qualname = 128,
              .lines = 136,
              .first_line = 72,
              .bytecode = 184},
     .text = {.length = 16, .state = 32, .ascii = 48, .compact = 72},
     .bytes = {.length = 16, .data = 32}},
    {.version = 0x030c,
     .interpreters = 40,
     .interpreter = {.next = 0, .threads = 72},
     .gil = {.in_runtime = 0, .of_interpreter = 384, .bytes = 208, .locked = 16, .holder = 8},
     .thread =
         {.next = 8, .frame = 56, .frame_of_cframe = 0, .id = 136, .native_id = 144, .chunk = 232},
     .frame = {.code = 0, .back = 8, .instruction = 56, .owner = 70, .bytes = 72},
     .code = {.type = 8,
              .filename = 112,
              .name = 120,
              .qualname = 128,
              .lines = 136,
              .first_line = 68,
              .bytecode = 192},
     .text = {.length = 16, .state = 32, .ascii = 40, .compact = 56},
     .bytes = {.length = 16, .data = 32}},
    {.version = 0x030d,
     .interpreters = 632,
     .interpreter = {.next = 7264, .threads = 7344},
     .gil = {.in_runtime = 0, .of_interpreter = 16, .bytes = 208, .locked = 16, .holder = 8},
     .thread =
         {.next = 8, .frame = 72, .frame_of_cframe = -1, .id = 152, .native_id = 160, .chunk = 232},
     .frame = {.code = 0, .back = 8, .instruction = 56, .owner = 70, .bytes = 72},
     .code = {.type = 8,
              .filename = 112,
              .name = 120,
              .qualname = 128,
              .lines = 136,
              .first_line = 68,
              .bytecode = 200},
     .text = {.length = 16, .state = 32, .ascii = 40, .compact = 56},
     .bytes = {.length = 16, .data = 32}},
};

// _PyRuntime begins like this from 3.13 on. Its contents also differ by version: only the part that
// 3.13 has in this order is used.
struct DebugOffsets {
  char cookie[8];
  uint64_t version;
  uint64_t free_threaded;
  struct {
    uint64_t size, finalizing, interpreters_head;
  } runtime;
  struct {
    uint64_t size, id, next, threads_head, gc, imports_modules, sysdict, builtins, ceval_gil;
    uint64_t gil, gil_enabled, gil_locked, gil_holder;
  } interpreter;
  struct {
    uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id;
    uint64_t datastack_chunk, status;
  } thread;
  struct {
    uint64_t size, previous, executable, instr_ptr, localsplus, owner;
  } frame;
  struct {
    uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames;
    uint64_t localspluskinds, co_code_adaptive;
  } code;
};
constexpr char kCookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
constexpr uint32_t kFirstOfOffsets = 0x030d;

const PythonLayout* row_of(uint32_t version) {
  for (const PythonLayout& row : kLayouts) {
    if (row.version == version) return &row;
  }
  return nullptr;
}

bool fits(const PythonLayout& layout) {
  return layout.thread.next + 8 <= kThreadBytesMax && layout.thread.frame + 8 <= kThreadBytesMax &&
         layout.thread.id + 8 <= kThreadBytesMax && layout.frame.back + 8 <= kFrameBytesMax &&
         layout.frame.instruction + 8 <= kFrameBytesMax &&
         layout.frame.code + 8 <= kFrameBytesMax && layout.code.lines + 8 <= kCodeBytesMax &&
         layout.code.first_line + 8 <= kCodeBytesMax && layout.code.name + 8 <= kCodeBytesMax &&
         layout.code.filename + 8 <= kCodeBytesMax;
}

uint32_t narrow(uint64_t offset) {
  return offset < (1u << 24) ? static_cast<uint32_t>(offset) : 1u << 24;
}

}  // namespace

const PythonLayout* find_python_layout(const OwnMemory& memory, uint64_t runtime, uint32_t version,
                                       PythonLayout* own) {
  const PythonLayout* row = row_of(version);
  if (row == nullptr || version < kFirstOfOffsets) return row;
  DebugOffsets said;
  if (!memory.read(runtime, &said)) return nullptr;
  if (memcmp(said.cookie, kCookie, sizeof kCookie) != 0 || said.version >> 16 != version) {
    return nullptr;
  }
  *own = *row;
  own->interpreters = narrow(said.runtime.interpreters_head);
  own->interpreter = {narrow(said.interpreter.next), narrow(said.interpreter.threads_head)};
  own->gil.of_interpreter = static_cast<int32_t>(narrow(said.interpreter.ceval_gil));
  own->gil.locked = narrow(said.interpreter.gil_locked - said.interpreter.gil);
  own->gil.holder = narrow(said.interpreter.gil_holder - said.interpreter.gil);
  own->thread.next = narrow(said.thread.next);
  own->thread.frame = narrow(said.thread.current_frame);
  own->thread.id = narrow(said.thread.thread_id);
  own->thread.native_id = static_cast<int32_t>(narrow(said.thread.native_thread_id));
  own->thread.chunk = static_cast<int32_t>(narrow(said.thread.datastack_chunk));
  own->frame = {narrow(said.frame.executable), narrow(said.frame.previous),
                narrow(said.frame.instr_ptr), static_cast<int32_t>(narrow(said.frame.owner)),
                narrow(said.frame.localsplus)};
  own->code.filename = narrow(said.code.filename);
  own->code.name = narrow(said.code.name);
  own->code.qualname = static_cast<int32_t>(narrow(said.code.qualname));
  own->code.lines = narrow(said.code.linetable);
  own->code.first_line = narrow(said.code.firstlineno);
  own->code.bytecode = static_cast<int32_t>(narrow(said.code.co_code_adaptive));
  return fits(*own) ? own : nullptr;
}

}  // namespace xsp::process

// Prints where a version of CPython keeps the data that the sampler reads, as a row of the table in
// src/process/sample/python_layout.cc: compile it against that version's headers and run it.
//
//   cc -I$PREFIX/include/python3.11 -I$PREFIX/include/python3.11/internal print.c && ./a.out
//
// From 3.13 on the interpreter publishes most of these offsets itself (_Py_DebugOffsets); the tests
// compare the row with them.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>

#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#endif
#if PY_VERSION_HEX < 0x03090000
#include <pycore_pystate.h>
#else
#include <pycore_interp.h>
#include <pycore_runtime.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <pycore_frame.h>
#endif

#if PY_VERSION_HEX >= 0x030b0000
#define THREADS_HEAD offsetof(PyInterpreterState, threads.head)
#else
#define THREADS_HEAD offsetof(PyInterpreterState, tstate_head)
#endif

#if PY_VERSION_HEX >= 0x030c0000
#define GIL_IN_RUNTIME 0L
#define GIL_OF_INTERPRETER (long)offsetof(PyInterpreterState, ceval.gil)
#else
#define GIL_IN_RUNTIME (long)offsetof(_PyRuntimeState, ceval.gil)
#define GIL_OF_INTERPRETER 0L
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define FRAME offsetof(PyThreadState, current_frame)
#define FRAME_OF_CFRAME (-1L)
#elif PY_VERSION_HEX >= 0x030b0000
#define FRAME offsetof(PyThreadState, cframe)
#if PY_VERSION_HEX >= 0x030c0000
#define FRAME_OF_CFRAME (long)offsetof(_PyCFrame, current_frame)
#else
#define FRAME_OF_CFRAME (long)offsetof(_PyCFrame, current_frame)
#endif
#else
#define FRAME offsetof(PyThreadState, frame)
#define FRAME_OF_CFRAME (-1L)
#endif

#if PY_VERSION_HEX >= 0x030b0000
#define NATIVE_ID (long)offsetof(PyThreadState, native_thread_id)
#define CHUNK (long)offsetof(PyThreadState, datastack_chunk)
#define CODE_QUALNAME (long)offsetof(PyCodeObject, co_qualname)
#define CODE_BYTES (long)offsetof(PyCodeObject, co_code_adaptive)
#define BACK offsetof(_PyInterpreterFrame, previous)
#define OWNER (long)offsetof(_PyInterpreterFrame, owner)
#define FRAME_BYTES offsetof(_PyInterpreterFrame, localsplus)
#if PY_VERSION_HEX >= 0x030d0000
#define CODE offsetof(_PyInterpreterFrame, f_executable)
#define INSTRUCTION offsetof(_PyInterpreterFrame, instr_ptr)
#else
#define CODE offsetof(_PyInterpreterFrame, f_code)
#define INSTRUCTION offsetof(_PyInterpreterFrame, prev_instr)
#endif
#else
#define NATIVE_ID (-1L)
#define CHUNK (-1L)
#define CODE_QUALNAME (-1L)
#define CODE_BYTES (-1L)
#define BACK offsetof(PyFrameObject, f_back)
#define OWNER (-1L)
#define FRAME_BYTES offsetof(PyFrameObject, f_localsplus)
#define CODE offsetof(PyFrameObject, f_code)
#define INSTRUCTION offsetof(PyFrameObject, f_lasti)
#endif

#if PY_VERSION_HEX >= 0x030a0000
#define LINES offsetof(PyCodeObject, co_linetable)
#else
#define LINES offsetof(PyCodeObject, co_lnotab)
#endif

int main(void) {
  printf("    {.version = 0x%04x,\n", (unsigned)(PY_VERSION_HEX >> 16));
  printf("     .interpreters = %zu,\n", offsetof(_PyRuntimeState, interpreters.head));
  printf("     .interpreter = {.next = %zu, .threads = %zu},\n", offsetof(PyInterpreterState, next),
         THREADS_HEAD);
  printf(
      "     .gil = {.in_runtime = %ld, .of_interpreter = %ld, .bytes = %zu, .locked = %zu, "
      ".holder = %zu},\n",
      GIL_IN_RUNTIME, GIL_OF_INTERPRETER, sizeof(struct _gil_runtime_state),
      offsetof(struct _gil_runtime_state, locked),
      offsetof(struct _gil_runtime_state, last_holder));
  printf(
      "     .thread = {.next = %zu, .frame = %zu, .frame_of_cframe = %ld, .id = %zu, "
      ".native_id = %ld, .chunk = %ld},\n",
      offsetof(PyThreadState, next), FRAME, FRAME_OF_CFRAME, offsetof(PyThreadState, thread_id),
      NATIVE_ID, CHUNK);
  printf(
      "     .frame = {.code = %zu, .back = %zu, .instruction = %zu, .owner = %ld, .bytes = %zu},\n",
      CODE, BACK, INSTRUCTION, OWNER, FRAME_BYTES);
  printf(
      "     .code = {.type = %zu, .filename = %zu, .name = %zu, .qualname = %ld, .lines = %zu, "
      ".first_line = %zu, .bytecode = %ld},\n",
      offsetof(PyObject, ob_type), offsetof(PyCodeObject, co_filename),
      offsetof(PyCodeObject, co_name), CODE_QUALNAME, LINES, offsetof(PyCodeObject, co_firstlineno),
      CODE_BYTES);
  printf("     .text = {.length = %zu, .state = %zu, .ascii = %zu, .compact = %zu},\n",
         offsetof(PyASCIIObject, length), offsetof(PyASCIIObject, state), sizeof(PyASCIIObject),
         sizeof(PyCompactUnicodeObject));
  printf("     .bytes = {.length = %zu, .data = %zu}},\n", offsetof(PyVarObject, ob_size),
         offsetof(PyBytesObject, ob_sval));
  return 0;
}

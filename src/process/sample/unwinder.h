// The unwinder finds the callers in compiled code from a thread's registers and its stack.
// libunwind reads the exception tables (.eh_frame), which compilers write beside the code.
//
// It calls nothing in the program and takes no lock of its loader: tables and stacks are read as
// foreign memory (memory.h), and tables are cached. If xsp was built without libunwind, no callers
// are found.
//
// The unwinder is libunwind 1.8.1 (MIT), which tools/deps.sh builds from Debian trixie's source
// archive, position-independent and with hidden names, so that it never meets a program's own
// libunwind. The stack of a waiting thread starts at the stack pointer and program counter of
// /proc/self/task/TID/syscall, and ends where a caller needs a register that was not saved. The
// heads of the files in /proc/self/maps lead to the tables. Callers that are at the same place of
// the stack with the same return address as before are not unwound again. The child of a fork
// during which libunwind held its locks has no callers. aarch64 and ppc64le have one frame, the
// innermost.
//
// Refused: Debian's archive (not position-independent: its TLS is an executable's) and its shared
// library (a program with another libunwind.so.8 would get this one, and machines lack it);
// libunwind's own search for tables (dl_iterate_phdr takes the loader's lock); libdw of elfutils
// (opens files and allocates in the program; LGPL or GPL 2); writing stacks to the trace and
// unwinding at the desk (1.6 MB a second and thread); the kernel's chains of frame pointers,
// without which distributions build; an unwinder of our own (the rules are a small language, with
// exceptions of compilers that libunwind knows).
#ifndef XSP_PROCESS_SAMPLE_UNWINDER_H_
#define XSP_PROCESS_SAMPLE_UNWINDER_H_

#include <stddef.h>
#include <stdint.h>

#include "process/sample/memory.h"
#include "process/sample/modules.h"

namespace xsp::process {

inline constexpr size_t kNativeDepthMax = 128;  // frames of a stack, counted from the innermost
inline constexpr size_t kRegistersMax = 17;     // by their numbers in DWARF
inline constexpr int kStackPointer = 7;
inline constexpr int kProgramCounter = 16;

// The place of a thread, and the part of its stack that was copied at that moment. The rest of the
// stack is read from memory.
struct NativeStart {
  uint64_t registers[kRegistersMax];
  uint32_t known;  // a bit for each register that is known
  uint64_t stack;  // the address of the copy's first byte
  const uint8_t* bytes;
  size_t size;
};

struct NativeFrame {
  uint64_t address;  // for callers: the return address
  uint64_t sp;       // stack pointer there
};

class Unwinder {
 public:
  // Allocates the things that libunwind needs, so it is called on a thread of the program. Returns
  // false if there is no libunwind, or if the program forked in the middle of its work.
  bool begin(const OwnMemory* memory, const Modules* modules);
  void end();
  // Notes that new files were mapped: cached tables may be wrong.
  void forget_tables();
  bool is_on() const { return space_ != nullptr; }

  // Reads the frames, the innermost first, up to the first one in [stop, stop_end), or as far as
  // they can be found. `known` has the frames of the thread's previous visit: callers that are
  // still there cost little.
  size_t unwind(const NativeStart& start, uint64_t stop, uint64_t stop_end,
                const NativeFrame* known, size_t known_count, NativeFrame* frames);
  // Finds the begin and the end of the function at an address. Returns false if no table has it.
  bool find_function(uint64_t address, uint64_t* start, uint64_t* end);

  // Callbacks for libunwind.
  bool read_word(uint64_t address, uint64_t* out);
  bool read_register(int number, uint64_t* out) const;
  int find_procedure(uint64_t address, void* out, int wants_program);

 private:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kTablePagesMax = 1024;
  static constexpr size_t kLivePagesMax = 16;
  static constexpr size_t kCachedMax = 4096;  // places that libunwind caches
  struct Page {
    uint64_t address;  // 0: none
    uint8_t bytes[kPageBytes];
  };
  // The unwind tables of a module: the index that leads to each function's table, and the part of
  // the file around it.
  struct Table {
    bool is_known;
    uint64_t head;  // 0: there is none
    uint64_t count;
    uint64_t start;
    uint64_t end;
  };
  const Table* table_of(uint64_t address);
  bool read_table(const Module& module, Table* table) const;
  bool is_same_from(const NativeFrame* known, size_t count);

  const OwnMemory* memory_;
  const Modules* modules_;
  void* space_;
  const NativeStart* start_;
  bool has_new_;
  uint64_t constant_start_;  // the part of a file that was read last
  uint64_t constant_end_;
  size_t live_count_;
  Page live_[kLivePagesMax];  // pages of this stack
  Page pages_[kTablePagesMax];
  Table tables_[kModulesMax];
};

// Resets the state in the child of a fork: locks of libunwind that the parent's sampler held are
// never released there.
void forget_unwinding();

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_UNWINDER_H_

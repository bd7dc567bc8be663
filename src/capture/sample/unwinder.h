// The unwinder finds the callers in compiled code from a thread's registers and its stack.
// libunwind reads the tables for exceptions (.eh_frame), which compilers write beside the code.
//
// Nothing is called in the program, and no lock of its loader is taken: tables and stacks are read
// as foreign memory (memory.h), of which tables are kept. Where xsp was built without libunwind,
// there are no callers.
#ifndef XSP_CAPTURE_SAMPLE_UNWINDER_H_
#define XSP_CAPTURE_SAMPLE_UNWINDER_H_

#include <stddef.h>
#include <stdint.h>

#include "capture/sample/memory.h"
#include "capture/sample/modules.h"

namespace xsp::capture {

inline constexpr size_t kNativeDepthMax = 128;  // of a stack, counted from where it is
inline constexpr size_t kRegistersMax = 17;     // by the numbers that DWARF gives them
inline constexpr int kStackPointer = 7;
inline constexpr int kProgramCounter = 16;

// Where a thread is, and as much of its stack as was copied at that moment. The rest is read where
// it is.
struct NativeStart {
  uint64_t registers[kRegistersMax];
  uint32_t known;  // a bit for each register that is known
  uint64_t stack;  // the address of the copy's first byte
  const uint8_t* bytes;
  size_t size;
};

struct NativeFrame {
  uint64_t address;  // of the callers: where they go on
  uint64_t sp;       // the stack's pointer there
};

class Unwinder {
 public:
  // Takes what libunwind needs; on a thread of the program's, as that allocates. False: there is
  // none, or a fork of the program came into the midst of its work.
  bool begin(const OwnMemory* memory, const Modules* modules);
  void end();
  // Files are mapped that were not.
  void forget_tables();
  bool is_on() const { return space_ != nullptr; }

  // The frames, the innermost first, up to the first in [stop, stop_end), or as far as is known.
  // `known` are those of when the thread was last here: callers that are still there cost little.
  size_t unwind(const NativeStart& start, uint64_t stop, uint64_t stop_end,
                const NativeFrame* known, size_t known_count, NativeFrame* frames);
  // The function of an address: where it begins and ends; false: no table says.
  bool find_function(uint64_t address, uint64_t* start, uint64_t* end);

  // For libunwind.
  bool read_word(uint64_t address, uint64_t* out);
  bool read_register(int number, uint64_t* out) const;
  int find_procedure(uint64_t address, void* out, int wants_program);

 private:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kTablePagesMax = 1024;
  static constexpr size_t kLivePagesMax = 16;
  static constexpr size_t kCachedMax = 4096;  // places of which libunwind knows the way back
  struct Page {
    uint64_t address;  // 0: none
    uint8_t bytes[kPageBytes];
  };
  // Of a module: the table that leads to each function's, and the part of the file around it.
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
  Page live_[kLivePagesMax];  // of this stack
  Page pages_[kTablePagesMax];
  Table tables_[kModulesMax];
};

// In the child of a fork: what the parent's sampler held of libunwind's locks is never released.
void forget_unwinding();

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_SAMPLE_UNWINDER_H_

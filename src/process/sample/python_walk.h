// Reads the stacks of CPython's threads from outside: it takes no lock of the interpreter, calls
// none of its functions, and stops no thread of the program.
//
// The threads run on while their memory is read. Each address is read as foreign memory (memory.h),
// and each loop is bounded. An object counts as code only if it has the type of code and holds the
// instruction at which its frame is.
//
// The trace has the table of lines of each code once, and instructions; lines are found at the
// desk. Frames that have not moved since the last look keep their place in the tree, and are not
// read again.
#ifndef XSP_PROCESS_SAMPLE_PYTHON_WALK_H_
#define XSP_PROCESS_SAMPLE_PYTHON_WALK_H_

#include <stddef.h>
#include <stdint.h>

#include "process/sample/memory.h"
#include "process/sample/python_layout.h"

namespace xsp::process {

inline constexpr size_t kPythonThreadsMax = 1024;
inline constexpr size_t kDepthMax = 192;             // frames, from the innermost one
inline constexpr size_t kPythonNameBytesMax = 1024;  // longest name that is kept whole
inline constexpr size_t kLinesBytesMax = 64u << 10;

// The addresses of an interpreter, if there is one. A thread of the program fills them, because the
// search takes the loader's lock.
struct PythonSymbols {
  uint64_t runtime = 0;
  uint64_t code_type = 0;
  uint64_t evaluate = 0;  // the function that runs Python's code; 0: not known
  uint32_t version = 0;   // major << 8 | minor
};
PythonSymbols find_python();

struct PythonThread {
  uint64_t address;
  uint64_t frame;  // address of the thread's cframe, in versions that have those
  uint64_t id;     // pthread_self(), if there is no native id
  int32_t native_id;
  bool holds_lock;
  uint64_t lock;  // address of the lock, in which waiting threads wait
};

struct PythonFrame {
  uint64_t address;
  uint64_t code;
  uint64_t instruction;  // its address, or its number
  uint32_t node;         // node in the tree of stacks; 0: none yet
  uint32_t unused;

  bool is_at_same(const PythonFrame& other) const {
    return address == other.address && code == other.code && instruction == other.instruction;
  }
};

// Holds the fields of a code object that distinguish it from another one at the same address.
struct PythonCode {
  uint64_t filename;
  uint64_t name;
  uint64_t lines;
  int32_t first_line;
  int32_t size;  // instructions; -1: not known

  bool operator==(const PythonCode&) const = default;
};

class PythonWalk {
 public:
  // Returns false if there is no interpreter, or none of a known version.
  bool begin(const OwnMemory* memory, const PythonSymbols& symbols);
  const PythonLayout* layout() const { return layout_; }
  bool is_on() const { return layout_ != nullptr; }

  // Lists the interpreters' threads.
  void look();
  const PythonThread* threads() const { return threads_; }
  size_t thread_count() const { return thread_count_; }

  // Reads the thread's frames, the innermost first, kDepthMax at most. `known` has the frames of
  // the previous walk: frames that are still there cost little.
  size_t walk(const PythonThread& thread, const PythonFrame* known, size_t known_count,
              PythonFrame* frames);
  // Returns whether there are more than kDepthMax frames.
  bool is_cut() const { return is_cut_; }
  // Returns whether the frames do not lead to an outermost one: the thread has returned from some
  // of them meanwhile.
  bool is_broken() const { return is_broken_; }
  // Reads again which frame of the thread is the innermost one.
  bool refresh(PythonThread* thread) const;
  // Reads the facts of each frame's code, beginning with the outermost frame. Returns the first
  // index from which on all could be read.
  size_t read_codes(const PythonFrame* frames, size_t count, PythonCode* codes);
  // Returns the instruction's number, or -1 if the instruction does not belong to that code.
  int32_t instruction_of(const PythonFrame& frame, const PythonCode& code) const;

  // Read a function's qualified name, or any text such as a file's name, as UTF-8 with '\0'. They
  // return false if it cannot be read.
  bool read_function(uint64_t code, char* out) const;
  bool read_text(uint64_t text, char* out) const;
  // Reads the table of lines. Returns its size in bytes, 0 if it cannot be read.
  size_t read_lines(const PythonCode& code, uint8_t* out) const;

 private:
  // Blocks of memory that will probably be needed. They are read at once.
  struct Guess {
    uint64_t address[kPythonThreadsMax];
    uint8_t bytes[kPythonThreadsMax][kThreadBytesMax];
    size_t count = 0;
    size_t next = 0;
  };
  // Reads `first` and then the blocks. Returns the number of pieces of `first` that were read.
  size_t read_guessed(const Piece* first, size_t first_count, size_t count, size_t bytes);
  const uint8_t* block_at(uint64_t address, size_t bytes, uint8_t* scratch);
  // The addresses in an interpreter that lead to its threads.
  struct Interpreter {
    uint64_t address;
    uint64_t lock;
    uint64_t threads;
    uint64_t next;
    uint64_t holder;
    int locked;
  };
  static constexpr size_t kInterpreterPieces = 4;
  void pieces_of(Interpreter* interpreter, Piece* pieces) const;
  bool find_lock(Interpreter* interpreter) const;
  void list_threads(const Interpreter& interpreter);

  const OwnMemory* memory_ = nullptr;
  const PythonLayout* layout_ = nullptr;
  PythonLayout own_layout_ = {};
  PythonSymbols symbols_;
  PythonThread threads_[kPythonThreadsMax];
  size_t thread_count_ = 0;
  bool is_cut_ = false;
  bool is_broken_ = false;
  Interpreter main_ = {};  // its state at the last look
  Guess guess_;
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_PYTHON_WALK_H_

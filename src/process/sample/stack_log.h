// The sampler writes two things: the tree of stacks, each node once, and the looks at the threads.
// Both become chunks of the trace (trace/format.h).
#ifndef XSP_PROCESS_SAMPLE_STACK_LOG_H_
#define XSP_PROCESS_SAMPLE_STACK_LOG_H_

#include <stddef.h>
#include <stdint.h>

#include "process/sample/python_walk.h"
#include "process/sample/threads.h"
#include "shared/trace/format.h"

namespace xsp::process {

inline constexpr size_t kCodesMax = 1u << 15;  // entries known at a time
inline constexpr size_t kNodesMax = 1u << 17;
inline constexpr size_t kCallTextsMax = 512;  // by the system call's number

class StackLog {
 public:
  // The object lies in zeroed memory, of which pages are touched only when they are used.
  void begin();

  // Returns the tree's node for this frame, whose caller is the node `parent` (0: none). Returns 0
  // if there is no room; that is counted.
  uint32_t node_of(const PythonWalk& walk, uint32_t parent, const PythonFrame& frame,
                   const PythonCode& code);
  // Returns the node of an address in a module. The address is rounded to 16 bytes, because
  // functions begin at multiples of that.
  uint32_t native_node_of(uint32_t parent, uint32_t module, uint64_t offset);
  void define_module(uint32_t module, const Module& facts, const char* path);
  // Returns the id of a system call's name; 0: it has none.
  uint32_t text_of_call(int32_t call);
  // Adds one look at that UNIX time, which stands for `duration_ns`.
  void add_look(int64_t now_ns, int64_t duration_ns, const SampledThread* threads, size_t count);
  // Writes everything that is collected, on a thread that has the program's files. The caller keeps
  // the sampler out.
  void flush();
  // Returns whether a flush should not wait.
  bool is_filling() const;

 private:
  static constexpr size_t kHeadBytes = sizeof(trace::ChunkHeader);
  static constexpr size_t kStackBytes = 1u << 20;
  static constexpr size_t kLookBytes = 256u << 10;
  struct Code {
    uint64_t address;
    PythonCode facts;
    uint32_t id;  // 0: the place is free
  };
  struct Node {
    uint32_t parent;
    uint32_t code;
    int32_t instruction;
    uint32_t id;  // 0: the place is free
  };
  // The state of a thread as this chunk last recorded it.
  struct Said {
    int32_t tid;
    uint32_t node;
    uint32_t call_text;
    uint8_t does;
    bool is_there;
  };

  uint32_t code_of(const PythonWalk& walk, uint64_t address, const PythonCode& facts);
  // `code` may be a module with kNativeBit; `instruction` is then a place in it.
  uint32_t node_below(uint32_t parent, uint32_t code, int32_t instruction);
  bool define_code(const PythonWalk& walk, uint64_t address, const PythonCode& facts, uint32_t id);
  // Returns nullptr if there is no room before the next flush.
  uint8_t* begin_entry(size_t bytes_max);
  void end_entry(uint8_t* end);
  bool is_news(size_t* hint, const SampledThread& thread, uint8_t does);
  void begin_looks(int64_t now_ns);
  void write_stacks();
  void write_looks();

  Code codes_[kCodesMax];
  uint32_t code_ids_;
  Node nodes_[kNodesMax];
  uint32_t node_count_;
  uint32_t call_texts_[kCallTextsMax];
  uint32_t other_call_text_;
  uint32_t text_ids_;
  uint64_t without_room_;
  uint64_t looks_without_room_;
  uint64_t not_written_;

  uint8_t stacks_[kHeadBytes + kStackBytes + trace::kChunkAlignment];
  uint8_t* stacks_end_;
  uint8_t* entry_;
  uint8_t looks_[kHeadBytes + kLookBytes + trace::kChunkAlignment];
  uint8_t* looks_end_;
  uint32_t look_count_;
  int64_t look_ns_;
  Said said_[kSampledThreadsMax];
  size_t said_count_;
  char name_[kPythonNameBytesMax];
  uint8_t lines_[kLinesBytesMax];
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_SAMPLE_STACK_LOG_H_

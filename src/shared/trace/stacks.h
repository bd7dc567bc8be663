// Parses kStacks and kSamples payloads. The bytes are foreign.
#ifndef XSP_SHARED_TRACE_STACKS_H_
#define XSP_SHARED_TRACE_STACKS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shared/trace/format.h"

namespace xsp::trace {

// Describes a frame of a stack; its parents are its callers.
struct StackNode {
  uint32_t parent = 0;   // node; 0: none
  std::string function;  // compiled code: empty, because the name is in its file
  std::string file;      // empty: not known
  int line = 0;          // 0: not known
  bool is_native = false;
  uint64_t offset = 0;  // compiled code: place in its file
};

// The tree of stacks, as defined by the kStacks chunks that were read so far.
class Stacks {
 public:
  // Adds the entries. Returns false if some of them are invalid (the others are added).
  bool add(std::span<const uint8_t> payload);
  // Returns nullptr if the node is not defined. A node's parent has a smaller number.
  const StackNode* node(uint32_t id) const;
  const std::string* text(uint32_t id) const;

 private:
  struct Code {
    LinesForm form = LinesForm::kNone;
    int first_line = 0;
    std::string function;
    std::string file;
    std::vector<uint8_t> lines;
  };
  struct Module {
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
    std::string path;
  };
  bool add_entry(std::span<const uint8_t> bytes);

  std::map<uint32_t, Code> codes_;
  std::map<uint32_t, Module> modules_;
  std::map<uint32_t, StackNode> nodes_;
  std::map<uint32_t, std::string> texts_;
};

// One thread at one look.
struct Sample {
  int64_t time_ns = 0;      // UNIX time
  int64_t duration_ns = 0;  // time that it stands for, before time_ns
  uint32_t thread = 0;
  ThreadDoes does = ThreadDoes::kEnded;
  LockState lock = LockState::kNone;
  uint32_t node = 0;      // 0: none
  uint32_t waits_in = 0;  // text; 0: none
  bool has_cost = false;  // whether the two members below are known
  uint64_t system_ns = 0;
  uint64_t faults = 0;
};

// Appends the samples of a chunk, kSamples or kCostedSamples. Returns false if its bytes are
// invalid; the samples before them are appended all the same.
bool parse_samples(ChunkType type, std::span<const uint8_t> payload, std::vector<Sample>* samples);

// Returns the line of an instruction, as that version of CPython numbers them; 0: it has none.
int line_of(LinesForm form, std::span<const uint8_t> table, int first_line, int64_t instruction);

}  // namespace xsp::trace

#endif  // XSP_SHARED_TRACE_STACKS_H_

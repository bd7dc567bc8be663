// The control page: a file in the folder of `xsp run` that every process of the command maps, and
// looks at every few milliseconds: what to record when, and what `xsp ctl` wants. In it each
// process says what it does.
//
// A file that is mapped needs no thread, no descriptor and no answer: it works while the program is
// busy, in one that closes all descriptors, and through fork. Refused: a socket, which needs a
// thread in every process and a descriptor that programs close; signals, which are the program's.
//
// Fields are read and written by several processes: each by one atomic operation. A command is
// given by writing its parts, then its number.
#ifndef XSP_CAPTURE_ATTACH_CONTROL_PAGE_H_
#define XSP_CAPTURE_ATTACH_CONTROL_PAGE_H_

#include <cstddef>
#include <cstdint>

namespace xsp::capture {

inline constexpr const char* kControlFile = "control";  // in the run's folder
inline constexpr uint64_t kControlMagic = 0x3170636c74727863;
inline constexpr uint32_t kSetMax = 8;
inline constexpr size_t kSlotMax = 1024;
inline constexpr size_t kOutputBytesMax = 3072;
inline constexpr uint32_t kLevelNumbers = 7;  // levels count from 1

enum : uint32_t { kStart = 1, kStop = 2, kLevel = 3 };  // what `xsp ctl` wants

struct Command {
  uint64_t number;  // of commands so far; 0: none
  uint32_t what;    // kStart ...
  uint32_t levels;  // bits; 0: as before
};

struct ProcessSlot {
  int32_t process;     // 0: the slot is free
  uint32_t levels;     // recorded now
  int64_t start_ns;    // of the process, on CLOCK_MONOTONIC
  uint64_t steps;      // begun so far
  uint32_t step_kind;  // XSP_STEP_*; 0: none was seen
  uint32_t round;      // of sets that take turns: from 1
  uint64_t cpu_ns;     // processors' time that it had taken a moment ago
  Command command;
};

struct ControlPage {
  uint64_t magic;
  uint32_t bytes;  // of this structure
  int32_t owner;   // the process of `xsp run`
  // What to record, unless a command says otherwise: these levels, from `delay_ns` after a
  // process's start, for `duration_ns` (0: to its end), and in its steps from first_step up to
  // end_step (-1: to the last).
  uint32_t levels;
  // If not 0: these sets of levels by turns, each for a block of steps; sets[0] is the shallowest.
  uint32_t set_count;
  uint32_t sets[kSetMax];
  int64_t delay_ns;
  int64_t duration_ns;
  int64_t first_step;
  int64_t end_step;
  // The size of the traces of all processes, and what it may be at most (0: anything). Levels are
  // given up before that is reached: see room.h.
  uint64_t trace_bytes_max;
  uint64_t trace_bytes;
  uint32_t recorded;                   // bits of the levels that any process could record
  uint32_t given_up;                   // likewise
  int64_t given_up_ns[kLevelNumbers];  // when, of each level, on CLOCK_MONOTONIC
  uint32_t is_over;                    // the command has ended: who still runs leaves the run
  uint32_t left_out;                   // processes that were not recorded, as there was no room
  uint32_t unrecorded;                 // likewise, as their traces could not be written
  int32_t unrecorded_error;            // why: an errno value, of the first
  uint32_t sanitized;                  // likewise, as they have a sanitizer
  uint64_t ended_cpu_ns;               // processors' time of the processes that have ended
  uint32_t sample_hz;                  // looks at the threads' stacks in a second; 0: none
  uint32_t one_in;                     // not 0: the deepest set is recorded in one step of so many
  Command command;                     // to all processes, also those that start later
  char output[kOutputBytesMax];        // the .xsp file, by its whole path
  ProcessSlot slots[kSlotMax];
};

}  // namespace xsp::capture

#endif  // XSP_CAPTURE_ATTACH_CONTROL_PAGE_H_

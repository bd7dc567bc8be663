// The control page: a file in the folder of `xsp run`. Every process of the command maps it and
// reads it every few milliseconds: it says what to record when, and holds the commands of `xsp
// ctl`. Each process also publishes its own state in it.
//
// A mapped file needs no thread, no descriptor and no answer: it works while the program is busy,
// in a program that closes all descriptors, and through fork. Alternatives were rejected: a socket
// needs a thread in every process and a descriptor, which programs close; signals belong to the
// program.
//
// Several processes read and write the fields, each field with one atomic operation. To give a
// command, write its parts first and its number last.
#ifndef XSP_PROCESS_WATCH_CONTROL_PAGE_H_
#define XSP_PROCESS_WATCH_CONTROL_PAGE_H_

#include <cstddef>
#include <cstdint>

namespace xsp::process {

inline constexpr const char* kControlFile = "control";  // in the run's folder
inline constexpr uint64_t kControlMagic = 0x3170636c74727863;
inline constexpr uint32_t kSetMax = 8;
inline constexpr size_t kSlotMax = 1024;
inline constexpr size_t kOutputBytesMax = 3072;
inline constexpr uint32_t kLevelNumbers = 7;  // levels count from 1

enum : uint32_t { kStart = 1, kStop = 2, kLevel = 3 };  // commands of `xsp ctl`

struct Command {
  uint64_t number;  // number of commands so far; 0: none
  uint32_t what;    // kStart ...
  uint32_t levels;  // bits; 0: as before
};

struct ProcessSlot {
  int32_t process;     // 0: the slot is free
  uint32_t levels;     // recorded now
  int64_t start_ns;    // start of the process, on CLOCK_MONOTONIC
  uint64_t steps;      // begun so far
  uint32_t step_kind;  // XSP_STEP_*; 0: none was seen
  uint32_t round;      // round of sets that take turns: from 1
  uint64_t cpu_ns;     // processor time used up to a moment ago
  Command command;
};

struct ControlPage {
  uint64_t magic;
  uint32_t bytes;  // of this structure
  int32_t owner;   // the process of `xsp run`
  // The plan that applies unless a command overrides it: record these levels, from `delay_ns` after
  // a process's start, for `duration_ns` (0: to its end), and in its steps from first_step up to
  // end_step (-1: to the last).
  uint32_t levels;
  // If not 0: these sets of levels take turns, each for a block of steps; sets[0] is the
  // shallowest.
  uint32_t set_count;
  uint32_t sets[kSetMax];
  int64_t delay_ns;
  int64_t duration_ns;
  int64_t first_step;
  int64_t end_step;
  // The traces of all processes have this size, and this maximum (0: no limit). Levels are given up
  // before the maximum is reached: see room.h.
  uint64_t trace_bytes_max;
  uint64_t trace_bytes;
  uint32_t recorded;                   // bits of the levels that any process could record
  uint32_t given_up;                   // bits of the levels that are given up
  int64_t given_up_ns[kLevelNumbers];  // time when each level was given up, on CLOCK_MONOTONIC
  uint32_t is_over;                    // the command has ended: running processes leave the run
  uint32_t left_out;                   // processes not recorded: no room
  uint32_t unrecorded;                 // processes not recorded: their traces could not be written
  int32_t unrecorded_error;            // reason: errno value of the first
  uint32_t sanitized;                  // processes not recorded: they have a sanitizer
  uint64_t ended_cpu_ns;               // processor time of the processes that have ended
  uint32_t sample_hz;                  // samples of the threads' stacks per second; 0: none
  uint32_t one_in;                     // not 0: the deepest set gets one step in this many
  Command command;                     // for all processes, also those that start later
  char output[kOutputBytesMax];        // full path of the .xsp file
  ProcessSlot slots[kSlotMax];
};

}  // namespace xsp::process

#endif  // XSP_PROCESS_WATCH_CONTROL_PAGE_H_

// Attach: runs an unchanged command, and turns the records of its processes into an evaluation.
//
// The command keeps the terminal, the standard streams, its signals and its exit status. The
// library libxsp-attach.so (see process/watch) is loaded into each of its processes and their
// children. It writes one trace per process into a folder of ours. When the command has ended, the
// traces become one run of one .xsp file. In Python programs, the xsp Python package is put in
// front of the program's own modules (see python/).
//
// Thread rule: everything happens on the calling thread, which must be the only one.
#ifndef XSP_DESK_WATCH_WATCH_H_
#define XSP_DESK_WATCH_WATCH_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "desk/experiment/experiment.h"
#include "desk/experiment/frameworks.h"
#include "desk/watch/control.h"
#include "shared/base/result.h"

namespace xsp::watch {

// The ways to measure each level without recording a deeper one at the same time.
enum class Leveled {
  kTurns,         // one execution: sets of levels take turns in blocks of steps, after the warm-up
  kTurnsAndBare,  // the same, and in some blocks only the steps are recorded
  kExecutions,    // the command is run once for each level from the model down
  kSampled,       // one execution: one step in N records all levels, the others only the step
  kNot,           // one execution, all levels at once
};

// The progress of a command while it runs.
struct AttachProgress {
  int processes = 0;         // processes that run now
  uint64_t steps = 0;        // steps of the process with the most steps
  uint64_t trace_bytes = 0;  // size of the traces of all processes
};

struct AttachRequest {
  std::vector<std::string> command;  // the program and its arguments; the program is found as a
                                     // shell finds it
  uint32_t levels = 0;               // bits; the facts name the levels that cannot be recorded
  Leveled leveled = Leveled::kTurns;
  Schedule schedule;
  // The limit on the traces of all processes of one execution. Levels are given up, deepest first,
  // before the traces exceed it. 0: half of the free space where they are written.
  uint64_t trace_bytes_max = 0;
  std::filesystem::path output;
  // Called every second on the calling thread while the command runs. May be empty.
  std::function<void(const AttachProgress&)> on_progress;
  // Called when the command has ended and before its traces are read. May be empty. `trace_bytes`
  // is the size of the traces.
  std::function<void(uint64_t trace_bytes)> on_reading;
  std::map<std::string, std::string> facts;  // rows of `evaluation` that the caller knows
};

struct AttachOutcome {
  uint64_t processes = 0;
  uint64_t spans = 0;
  uint64_t lost = 0;
  uint64_t steps = 0;  // measured steps of the run with the most steps
  // The levels that the limit on the traces' size removed, and the processes that still run. Empty
  // if there are none.
  std::string size_note;
  std::string survivors_note;
  std::string unrecorded_note;                   // why some of its processes were not recorded
  std::vector<std::string> notes;                // levels that could not be recorded, and why
  std::vector<experiment::Load> loads;           // load of the processors while the command ran
  std::map<std::string, std::string> gpu_facts;  // the other processes on the GPUs, in the last
                                                 // execution
};

// Returns the path of a command's program. Fails with a one-line message if the program does not
// exist or may not be executed.
Result<std::filesystem::path> find_program(const std::string& name);
// Returns why no library can be loaded into this program ("it is linked statically"). Returns an
// empty string if one can.
std::string why_not_attachable(const std::filesystem::path& program);

// Fails before the command runs if the command cannot be run or the output cannot be written. Fails
// afterwards if the traces cannot be read or written; then the traces are kept, and the error names
// their folder. Sets *wait_status, in the format of waitpid, as soon as the command has ended. If
// the command runs several times, this is the status of the last execution. No execution follows
// one whose status is not 0.
Result<AttachOutcome> attach(const AttachRequest& request,
                             const experiment::Installation& installation, int* wait_status);

// Tells whether a command is recorded when attach() runs it, and how it ended. Nothing is kept.
// try_attach() changes the environment of this process, so it must be the caller's last command.
struct Trial {
  bool is_recorded = false;
  int wait_status = -1;
};
Result<Trial> try_attach(const std::vector<std::string>& command,
                         const experiment::Installation& installation);

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_WATCH_H_

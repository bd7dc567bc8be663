// Attach: a command is run as it is, and what its processes record becomes an evaluation.
//
// The command keeps the terminal, the standard streams, its signals and its exit status. Into each
// of its processes, and theirs, libxsp-attach.so is put (see capture/attach), which writes a trace
// per process into a folder of ours; when the command has ended, they become one run of one .xsp
// file. Python programs get the Python package put before their modules (see python/).
//
// Thread rule: everything happens on the calling thread, which must be the only one.
#ifndef XSP_EVALUATE_ATTACH_H_
#define XSP_EVALUATE_ATTACH_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/attach_control.h"
#include "evaluate/experiment.h"
#include "evaluate/frameworks.h"

namespace xsp::evaluate {

// How each level gets numbers from where nothing deeper was recorded.
enum class Leveled {
  kTurns,         // one execution: sets of levels by turns, in blocks of steps, once it is warm
  kTurnsAndBare,  // likewise, and in some blocks nothing but the steps
  kExecutions,    // the command is run once for each level from the model down
  kSampled,       // one execution: one step of so many with all levels, nothing but the steps else
  kNot,           // one execution, all levels at once
};

// Of a command that runs.
struct AttachProgress {
  int processes = 0;         // that run
  uint64_t steps = 0;        // of the process that has most
  uint64_t trace_bytes = 0;  // of all processes
};

struct AttachRequest {
  std::vector<std::string> command;  // the program, found as the shell finds it, and its arguments
  uint32_t levels = 0;               // bits; those that cannot be recorded are noted in the facts
  Leveled leveled = Leveled::kTurns;
  Schedule schedule;
  // Of the traces of all processes of one execution; levels are given up, deepest first, before
  // they are larger. 0: half of what is free where they are written.
  uint64_t trace_bytes_max = 0;
  std::filesystem::path output;
  // Called every second while the command runs, on the calling thread; may be empty.
  std::function<void(const AttachProgress&)> on_progress;
  // Called when the command has ended, before its traces of so many bytes are read; may be empty.
  std::function<void(uint64_t trace_bytes)> on_reading;
  std::map<std::string, std::string> facts;  // rows of `evaluation` that the caller knows
};

struct AttachOutcome {
  uint64_t processes = 0;
  uint64_t spans = 0;
  uint64_t lost = 0;
  uint64_t steps = 0;  // measured, of the run that has most
  // What a limit on the size of traces took, and who still runs; empty: nothing, nobody.
  std::string size_note;
  std::string survivors_note;
  std::string unrecorded_note;                   // why processes of it were not recorded
  std::vector<std::string> notes;                // what could not be recorded, and why
  std::vector<Load> loads;                       // of the processors, while the command ran
  std::map<std::string, std::string> gpu_facts;  // of neighbours, in the last execution
};

// Where the program of a command is. Fails in one line if it is not there or may not be run.
Result<std::filesystem::path> find_program(const std::string& name);
// Why nothing can be put into this program ("it is linked statically"); empty: it can.
std::string why_not_attachable(const std::filesystem::path& program);

// Fails before the command is run, if it cannot be, or the output cannot be written; or afterwards,
// if what was recorded cannot be read or written: then the traces are kept, and the error says
// where. `wait_status` is set, as waitpid gives it, as
// soon as the command has ended; where it is run several times it is the last one's, and the first
// that is not 0 is the last.
Result<AttachOutcome> attach(const AttachRequest& request, const Installation& installation,
                             int* wait_status);

// Whether a command, run likewise, is recorded, and how it ended; nothing is kept. It changes the
// environment of this process, so it is the last that a caller starts.
struct Trial {
  bool is_recorded = false;
  int wait_status = -1;
};
Result<Trial> try_attach(const std::vector<std::string>& command, const Installation& installation);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_H_

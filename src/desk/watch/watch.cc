#include "desk/watch/watch.h"

#include <elf.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "desk/experiment/facts.h"
#include "desk/experiment/plan.h"
#include "desk/machine/gpu_neighbours.h"
#include "desk/machine/machine.h"
#include "desk/store/database.h"
#include "desk/store/ingest.h"
#include "desk/watch/collectors.h"
#include "desk/watch/command.h"
#include "desk/watch/room.h"
#include "desk/watch/runs.h"
#include "process/watch/run_folder.h"
#include "shared/base/clock.h"
#include "shared/base/levels.h"
#include "shared/base/scratch.h"
#include "xsp/xsp.h"

namespace xsp::watch {
namespace {

namespace fs = std::filesystem;

// The levels that xsp itself can record of another program, as bits. Collectors add their own
// levels.
constexpr uint32_t kAttachedLevels = XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION) |
                                     XSP_LEVEL_BIT(XSP_LEVEL_MODEL) |
                                     XSP_LEVEL_BIT(XSP_LEVEL_LAYER);

// The application level is always included, because it tells processes apart.
uint32_t levels_of(const AttachRequest& request, uint32_t of_collectors) {
  const uint32_t possible = kAttachedLevels | of_collectors;
  return (request.levels & possible) | XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION);
}

// Returns one set of levels for each requested level from the model down. Each set holds that level
// and all shallower ones, so that no deeper level slows it.
std::vector<uint32_t> sets_of(uint32_t levels) {
  std::vector<uint32_t> sets;
  for (uint32_t level = XSP_LEVEL_MODEL; level <= XSP_LEVEL_KERNEL; ++level) {
    const uint32_t up_to = XSP_LEVEL_BIT(level + 1) - 1;
    if ((levels & XSP_LEVEL_BIT(level)) != 0) sets.push_back(levels & up_to);
  }
  return sets;
}

// One execution of the command: the levels that it records, and the sets of levels that take turns
// in it.
struct Execution {
  uint32_t levels = 0;
  std::vector<uint32_t> sets;
};

std::vector<Execution> executions_of(const AttachRequest& request, uint32_t of_collectors) {
  const uint32_t levels = levels_of(request, of_collectors);
  std::vector<uint32_t> sets = sets_of(levels);
  // NVTX ranges may belong to the library level, even without a collector. They get no run of their
  // own.
  const uint32_t ranges = request.levels & XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY);
  if (sets.empty() || request.leveled == Leveled::kNot) return {{levels | ranges, {}}};
  if (request.leveled == Leveled::kExecutions) {
    if (sets.back() >= XSP_LEVEL_BIT(XSP_LEVEL_LIBRARY)) sets.back() |= ranges;
    std::vector<Execution> executions;
    for (const uint32_t set : sets) executions.push_back({set, {}});
    return executions;
  }
  sets.back() |= ranges;
  const uint32_t deepest = sets.back();
  if (request.leveled == Leveled::kSampled) return {{deepest, {0, deepest}}};
  if (request.leveled == Leveled::kTurnsAndBare) sets.insert(sets.begin(), 0);
  return {{deepest, sets}};
}

std::map<std::string, std::string> facts_of(const AttachRequest& request) {
  std::map<std::string, std::string> facts = request.facts;
  facts.merge(machine::Machine().facts());
  return facts;
}

// ---- The environment ----------------------------------------------------------------------------

std::string environment_of(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

// Puts `what` in front of the variable's old value, if it has one.
void prepend(const char* name, const std::string& what) {
  const std::string before = environment_of(name);
  ::setenv(name, before.empty() ? what.c_str() : (what + ":" + before).c_str(), 1);
}

void append(const char* name, const std::string& what) {
  const std::string before = environment_of(name);
  ::setenv(name, before.empty() ? what.c_str() : (before + ":" + what).c_str(), 1);
}

// Returns the interpreter if the program is a script, else the program itself.
fs::path interpreter_of(const fs::path& program) {
  std::ifstream file(program, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line.rfind("#!", 0) != 0) return program;
  std::istringstream words(line.substr(2));
  std::string interpreter;
  words >> interpreter;
  return interpreter;
}

// Returns why the program's loader would refuse our library and therefore not start the program.
// Returns an empty string if the loader accepts the library.
std::string loader_refusal(const fs::path& program) {
  std::ifstream file(interpreter_of(program), std::ios::binary);
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "";
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (!file) return "";
    if (segment.p_type != PT_INTERP || segment.p_filesz == 0 || segment.p_filesz > 4096) continue;
    std::string loader(segment.p_filesz - 1, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(loader.data(), static_cast<std::streamsize>(loader.size()));
    const bool is_musl = loader.find("/ld-musl") != std::string::npos;
    return is_musl ? "it is built for the C library musl (" + loader + ")" : "";
  }
  return "";
}

// Changes the environment of this process, which the command inherits.
void set_environment(const experiment::Installation& installation, const fs::path& program,
                     const fs::path& scratch) {
  if (!loader_refusal(program).empty()) return;
  // AddressSanitizer ends a program if another library is loaded before the sanitizer's own. Our
  // library does not disturb it, so this check is switched off.
  append("ASAN_OPTIONS", "verify_asan_link_order=0");
  std::error_code error;
  fs::path library = installation.attach;
  if (library.string().find_first_of(" :") != std::string::npos) {
    // LD_PRELOAD separates its entries by these characters, so a link stands for the library. The
    // loader looks for the library's dependencies beside the link.
    for (const char* name : {"libxsp.so", "libxsp-attach.so"}) {
      fs::create_symlink(installation.attach.parent_path() / name, scratch / name, error);
    }
    library = scratch / library.filename();
  }
  prepend("LD_PRELOAD", library.string());
  if (fs::exists(installation.python / "start", error)) {
    prepend("PYTHONPATH", (installation.python / "start").string());
  }
}

// ---- The traces of the command ------------------------------------------------------------------

// Returns the traces in the order in which the processes started: the file names begin with the
// time.
std::vector<fs::path> traces_in(const fs::path& folder) {
  std::vector<fs::path> traces;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const bool is_trace = it->path().extension() == ".xtrace";
    if (is_trace && it->file_size(error) > 0) traces.push_back(it->path());
  }
  std::sort(traces.begin(), traces.end());
  return traces;
}

std::string note_of(const AttachRequest& request, const std::string& why) {
  return "nothing was recorded of " + request.command[0] + ": " + why;
}

std::string note_of_survivors(const std::vector<WatchedProcess>& survivors) {
  if (survivors.empty()) return "";
  std::string names;
  for (const WatchedProcess& one : survivors) {
    names += (names.empty() ? "" : ", ") + one.program + " " + std::to_string(one.process);
  }
  const bool is_one = survivors.size() == 1;
  return std::to_string(survivors.size()) + (is_one ? " process" : " processes") +
         " outlived the command (" + names + "): what " + (is_one ? "it" : "they") +
         " did until then is in the file, what follows is not recorded";
}

Status ingest_runs(store::Database& database, const Execution& execution,
                   const std::vector<fs::path>& traces, int* run_id, AttachOutcome* outcome) {
  XSP_TRY(const std::vector<RecordedRun> runs, runs_of_traces(traces, execution.levels, *run_id));
  for (const RecordedRun& run : runs) {
    XSP_TRY(const store::IngestReport report, store::ingest(database, run.info, run.traces));
    outcome->spans += report.spans;
    outcome->lost += report.lost;
  }
  outcome->processes += traces.size();
  *run_id += static_cast<int>(runs.size());
  return Ok{};
}

// Runs the command once, and reads its traces into the database. No other execution uses `folder`.
Status execute(const AttachRequest& request, const Execution& execution, const fs::path& program,
               const fs::path& folder, store::Database& database, HeldSignals& held, int* run_id,
               AttachOutcome* outcome, int* wait_status) {
  fs::create_directory(folder);
  ::setenv(process::kRunFolderVariable, folder.c_str(), 1);
  ::setenv("XSP_LEVELS", levels_text(execution.levels).c_str(), 1);
  const uint64_t bytes_max =
      request.trace_bytes_max > 0 ? request.trace_bytes_max : usual_limit_bytes(folder);
  XSP_TRY(ControlFile control, ControlFile::create(folder, execution.levels, execution.sets,
                                                   request.schedule, bytes_max, request.output));
  const auto tell_progress = [&] {
    AttachProgress progress;
    progress.trace_bytes = control.room().bytes;
    for (const WatchedProcess& one : control.processes()) {
      progress.processes += one.is_alive ? 1 : 0;
      progress.steps = std::max(progress.steps, one.steps);
    }
    request.on_progress(progress);
  };
  const machine::Machine machine;
  const std::set<int> processors = machine::usable_processor_numbers();
  const std::optional<machine::CpuTimes> before = machine.cpu_times(processors);
  const int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
  machine::GpuNeighbours neighbours([&control] {
    std::set<int> watched;
    for (const WatchedProcess& one : control.processes()) watched.insert(one.process);
    return watched;
  });
  XSP_TRY(*wait_status, run_command(program, request.command,
                                    request.on_progress ? std::function<void()>(tell_progress)
                                                        : std::function<void()>(),
                                    held));
  const double duration_s = static_cast<double>(clock_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
  const std::optional<experiment::Load> load = experiment::load_between(
      before, machine.cpu_times(processors), control.processors_time_s(), duration_s);
  if (load) outcome->loads.push_back(*load);
  outcome->gpu_facts = neighbours.finish();
  const std::string survivors_note = note_of_survivors(control.end());
  if (!survivors_note.empty()) outcome->survivors_note = survivors_note;
  const std::string unrecorded_note = control.note_of_unrecorded();
  if (!unrecorded_note.empty()) outcome->unrecorded_note = unrecorded_note;
  const TraceRoom room = control.room();
  const std::vector<fs::path> traces = traces_in(folder);
  if (traces.empty()) return Ok{};
  if (request.on_reading) request.on_reading(room.bytes);
  XSP_CHECK_OK(ingest_runs(database, execution, traces, run_id, outcome));
  const std::string size_note = note_of_room(room);
  if (!size_note.empty()) outcome->size_note = size_note;
  XSP_CHECK_OK(mark_runs_without_room(database, room));
  return Ok{};
}

// Writes down, and tells the user, the notes about the evaluation.
Status note(const AttachRequest& request, store::Database& database, AttachOutcome* outcome,
            std::map<std::string, std::string>* facts) {
  const auto add = [&](const char* key, const std::string& text) {
    if (text.empty()) return;
    outcome->notes.push_back(text);
    (*facts)[key] = text;
  };
  add("note.size", outcome->size_note);
  add("note.processes", outcome->survivors_note);
  add("note.unrecorded", outcome->unrecorded_note);
  XSP_TRY(const std::string part, note_of_part(database, request.schedule, request.levels));
  add("note.part", part);
  if (request.leveled == Leveled::kTurns || request.leveled == Leveled::kTurnsAndBare) {
    XSP_TRY(const std::string text, note_of_turns(database));
    add("note.levels", text);
  }
  return Ok{};
}

}  // namespace

Result<fs::path> find_program(const std::string& name) {
  const auto refuse = [&name](const std::string& why) {
    return not_available(name + ": cannot be run: " + why);
  };
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), F_OK) != 0) return refuse("there is no such file");
    if (::access(name.c_str(), X_OK) != 0) return refuse("it may not be executed");
    return fs::path(name);
  }
  std::istringstream folders(environment_of("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path path = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code error;
    if (fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return refuse("there is no such program in PATH");
}

std::string why_not_attachable(const fs::path& program) {
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_elf = file.gcount() >= SELFMAG && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!is_elf) return loader_refusal(program);  // for a script, the interpreter decides
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    return "it is for another kind of processor";
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (!file) return "";
    if (segment.p_type == PT_INTERP) return loader_refusal(program);
  }
  return "it is linked statically";
}

namespace {

// Turns the signals that a file may not grow further, and that nobody reads our messages (| head),
// into errors: by default they would kill us. A handler does this, because started programs do not
// inherit handlers.
void survive_failing_writes() {
  for (const int number : {SIGXFSZ, SIGPIPE}) {
    struct sigaction now = {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler == SIG_DFL) ::signal(number, [](int) {});
  }
}

// Runs the command as often as its levels need, and writes the file.
Status record(const AttachRequest& request, const experiment::Installation& installation,
              const fs::path& program, const fs::path& scratch, store::Database& database,
              HeldSignals& held, AttachOutcome* outcome, int* wait_status) {
  const AttachedCollectors collectors(installation, request.levels);
  collectors.set_environment(scratch);
  set_environment(installation, program, scratch);
  const std::vector<Execution> executions = executions_of(request, collectors.levels());
  int run_id = 1;
  for (size_t i = 0; i < executions.size(); ++i) {
    XSP_CHECK_OK(execute(request, executions[i], program, scratch / std::to_string(i), database,
                         held, &run_id, outcome, wait_status));
    if (*wait_status != 0) break;
    // If the command never uses a device, deeper runs would record nothing more.
    if (i + 1 < executions.size() &&
        collectors.watch_devices_alone(executions[i + 1].levels & ~executions[i].levels)) {
      XSP_TRY(const bool uses_cuda, has_used_cuda(database));
      if (!uses_cuda) break;
    }
  }
  if (outcome->processes == 0) {
    const std::string why =
        !outcome->unrecorded_note.empty() ? outcome->unrecorded_note : why_not_attachable(program);
    outcome->notes.push_back(note_of(
        request, why.empty() ? "it started without the environment that xsp gave it" : why));
    return Ok{};
  }
  // One transaction for all: otherwise, each statement would wait for the disk.
  XSP_CHECK_OK(database.execute("BEGIN TRANSACTION"));
  XSP_CHECK_OK(experiment::complete_runs(database));
  XSP_CHECK_OK(complete_steps(database));
  std::map<std::string, std::string> facts = facts_of(request);
  XSP_CHECK_OK(collectors.complete(database, &facts));
  XSP_CHECK_OK(note(request, database, outcome, &facts));
  facts.merge(experiment::facts_about_load(outcome->loads));
  facts.merge(outcome->gpu_facts);
  XSP_CHECK_OK(experiment::write_facts(database, facts));
  XSP_CHECK_OK(database.execute("COMMIT"));
  XSP_CHECK_OK(database.finish());
  return Ok{};
}

}  // namespace

Result<AttachOutcome> attach(const AttachRequest& request,
                             const experiment::Installation& installation, int* wait_status) {
  XSP_TRY(const fs::path program, find_program(request.command[0]));
  survive_failing_writes();
  HeldSignals held;  // until the command runs; first, so that it releases them last
  XSP_TRY(store::Database database, store::Database::create(request.output));
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  AttachOutcome outcome;
  const Status status = record(request, installation, program, scratch->path(), database, held,
                               &outcome, wait_status);
  if (status.ok()) return outcome;
  if (*wait_status == -1 || traces_in(scratch->path() / "0").empty()) return status.error();
  // The traces are kept, because the command may take long to run again.
  scratch->keep();
  return failed(status.error().text + ": its traces are kept, and can be imported: xsp import " +
                (scratch->path() / "0" / "*.xtrace").string());
}

Result<Trial> try_attach(const std::vector<std::string>& command,
                         const experiment::Installation& installation) {
  XSP_TRY(const fs::path program, find_program(command[0]));
  HeldSignals held;
  XSP_TRY(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  const fs::path folder = scratch->path() / "0";
  fs::create_directory(folder);
  set_environment(installation, program, scratch->path());
  ::setenv(process::kRunFolderVariable, folder.c_str(), 1);
  XSP_TRY(const ControlFile control,
          ControlFile::create(folder, kAttachedLevels, {}, {}, 0, scratch->path() / "none"));
  Trial trial;
  XSP_TRY(trial.wait_status, run_command(program, command, {}, held));
  trial.is_recorded = !traces_in(folder).empty();
  return trial;
}

}  // namespace xsp::watch

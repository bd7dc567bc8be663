// Executors let an engine run the tasks of a sweep: processes here, machines by ssh, Slurm. Each
// executors/NAME.cc defines NAME_executors(); the build collects them, so a new engine is a new
// file.
//
// An executor only starts `xsp task PLAN INDEX` somewhere, and tells what the engine still has.
// Whether a task is done is told by the files of the sweep, which `xsp task` writes. So an executor
// keeps no state of its own: a session that is opened again finds what an earlier one submitted.
#ifndef XSP_EXECUTORS_SHARED_EXECUTOR_H_
#define XSP_EXECUTORS_SHARED_EXECUTOR_H_

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::executors {

// An executor that cancels the tasks on its machine gives them this time: they end their workers,
// and write how they ended. Whoever ends a sweep must give it more time.
inline constexpr std::chrono::seconds kEndPatience{20};

// What a sweep's file says below `executors: NAME:`. A setting of several words has several texts.
using Settings = std::map<std::string, std::vector<std::string>>;

struct Unit {
  std::string name;
  std::string device;       // "cpu", "cuda", "cuda:1"
  std::string system;       // the machine that must run it; empty: any
  std::string container{};  // the image in which `xsp task` runs it; empty: none
};

struct Job {
  std::string id;                 // of the sweep; letters, digits and '-'
  std::filesystem::path plan;     // the file that `xsp task` reads
  std::filesystem::path program;  // this xsp
  Settings settings;
  std::vector<Unit> units;  // all tasks of the plan, by index
  double limit_s = 0;       // a task that takes longer is ended
};

// One unit that the engine has: waiting, or running on a machine.
struct Held {
  bool is_running = false;
  std::string where;  // the machine; empty: not known
  std::string why;    // why it waits; empty: not known
};

class Session {
 public:
  virtual ~Session() = default;
  // Asks the engine to run the units, each once. Fails with kUsage or kNotAvailable if it never
  // will, for example because no machine satisfies the settings. Whatever the error, it may have
  // some of the units, which poll() tells.
  virtual Status submit(const std::vector<size_t>& indexes) = 0;
  // Returns the units of this sweep that the engine still has. May wait for a change, no longer
  // than `patience`.
  virtual Result<std::map<size_t, Held>> poll(std::chrono::milliseconds patience) = 0;
  // Ends all units of this sweep that the engine has, also those of an earlier session.
  virtual Status cancel() = 0;
};

struct Setting {
  std::string name;
  std::string title;
  bool is_required = false;
};

struct Executor {
  std::string name;   // the word for --executor
  std::string title;  // one line for --help
  std::vector<Setting> settings;
  // Returns the machines on which units can be asked for by name.
  Result<std::vector<std::string>> (*systems)(const Settings& settings) = nullptr;
  // Fails with kNotAvailable if the engine is not here.
  Result<std::unique_ptr<Session>> (*open)(const Job& job) = nullptr;
  // Returns the words of the program that runs `xsp task - 0` on a machine and passes its standard
  // streams on; null: the engine has a queue alone. `program` is this xsp.
  std::vector<std::string> (*through)(const Settings& settings,
                                      const std::filesystem::path& program,
                                      const std::string& system) = nullptr;
  // The engine goes on with what it has after the session has ended, until somebody cancels it.
  bool outlives_session = false;
};

// Returns all executors, ordered by name. The build generates this function.
std::vector<Executor> all_executors();
// Returns the executor of that name. The error names those that exist.
Result<Executor> find_executor(const std::string& name);
// Fails if a setting is unknown to the executor, or a required one is missing.
Status check_settings(const Executor& executor, const Settings& settings);

// Return the setting's first text, or `otherwise`; and all of them.
std::string text_of(const Settings& settings, const std::string& name,
                    const std::string& otherwise = {});
std::vector<std::string> texts_of(const Settings& settings, const std::string& name);

}  // namespace xsp::executors

#endif  // XSP_EXECUTORS_SHARED_EXECUTOR_H_

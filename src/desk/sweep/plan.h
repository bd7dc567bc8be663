// Plan: the tasks of a sweep. A sweep's file, in YAML, is expanded to them once; from then on the
// plan, in JSON, is what counts.
#ifndef XSP_DESK_SWEEP_PLAN_H_
#define XSP_DESK_SWEEP_PLAN_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executors/shared/executor.h"
#include "shared/base/result.h"

namespace xsp::sweep {

using Words = std::vector<std::pair<std::string, std::string>>;  // an option's name and its value

// The unit of work: one model by one framework on one device, at one batch size or in one scenario.
struct Task {
  std::string name;  // unique in the plan; the name of its file
  std::string model;
  std::string framework;  // empty: by the model
  std::string device;     // empty: the best of the machine
  int64_t batch = 0;      // 0: the model's own
  std::string scenario;   // "profile", or one of `xsp evaluate`
  Words options;          // of the verb, without the dashes
  std::string system;     // the machine that must run it; empty: any
  std::string container;  // the image in which it runs; empty: in none
  std::string input;      // of a prediction (question.h): a file's bytes, as hexadecimal digits

  // Returns the words of the verb that does it, without -o.
  std::vector<std::string> words() const;
  // Returns a text that is equal for equal tasks of any sweep, on any machine.
  std::string subject() const;
};

struct LeftOut {
  std::string what;
  std::string why;
};

struct Plan {
  std::string id;  // unique
  std::string name;
  std::string source;  // the sweep's file, as it was
  std::string place;   // of the catalogue, without a password; empty: it is in the folder
  std::string executor;
  executors::Settings settings;  // of the executor
  int retries = 2;
  double timeout_s = 3600;
  std::optional<double> budget_s;
  std::optional<double> budget_cost;
  double price = 0;  // of an hour of a machine; 0: not given
  std::vector<Task> tasks;
  std::vector<LeftOut> left_out;
};

// A sweep's file. Errors begin with "FILE:LINE: FIELD: ".
struct Asked {
  std::string file;
  std::string text;
};

// Tells which words of a sweep's file name something. Each fails if there is nothing of that name.
using CheckWord = std::function<Status(const std::string& word)>;
struct Names {
  CheckWord model;  // of a word that is no file
  CheckWord framework;
  CheckWord scenario;
  CheckWord levels;  // of a whole list, with commas; and so the counters
  CheckWord counters;
};

// Expands a sweep's file, and refuses what could never run. Models vary fastest, so that a drift of
// the machine spreads over all. What a model's manifest excludes is left out, with the reason. Asks
// the executor for its machines only if the file wants all of them.
Result<Plan> expand(const Asked& asked, const executors::Executor& executor, const Names& names);

// Returns the executor's settings in the file.
Result<executors::Settings> settings_of(const Asked& asked, const executors::Executor& executor);

std::string to_json(const Plan& plan);
// Reads what to_json wrote. The text may come from a stranger.
Result<Plan> plan_of(std::string_view json, const std::string& name);

// Returns the seconds of "90s", "30m" or "2h", as the schema allows them.
double seconds_of(const std::string& text);

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_PLAN_H_

// record: writes the results of an experiment into an .xsp file.
#ifndef XSP_DESK_EXPERIMENT_RECORD_H_
#define XSP_DESK_EXPERIMENT_RECORD_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "desk/experiment/experiment.h"
#include "desk/machine/peaks.h"
#include "desk/store/database.h"
#include "shared/base/result.h"

namespace xsp::experiment {

// Returns the current time as ISO 8601 in UTC, to the second: "2026-11-22T08:00:00Z".
std::string utc_now();

// A row of the table `result`.
struct ResultRow {
  std::string metric;
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
  std::string unit;
  std::optional<int> run_id;
  std::string note;
};

struct Record {
  const Request* request = nullptr;
  const std::vector<Run>* runs = nullptr;
  std::map<std::string, std::string> facts;  // rows of `evaluation`
  std::vector<machine::Peak> peaks;
  std::vector<ResultRow> results;
};

// Returns the number with as few digits as needed: "1", "0.5".
std::string short_number(double number);
// Returns the facts that follow from the request and the runs: device, framework, inputs, outputs,
// ...
std::map<std::string, std::string> facts_of(const Request& request, const std::vector<Run>& runs);
// Returns the machine's clocks, temperatures and load at the moment `when`: "before", "after".
std::map<std::string, std::string> facts_of_state(const machine::MachineState& state,
                                                  const std::string& when);
// Returns the notes about the device, then those of each run under its name.
std::vector<std::string> notes_of(const std::vector<std::string>& of_device,
                                  const std::vector<Run>& runs);

// Fills the database and finishes it. Afterwards it is at the path that it was created for.
Status write_record(const Record& record, store::Database& database);

// Writes the file into a new folder for temporary files, because the requested path cannot be
// written. The folder remains if it holds a file. Returns the file's path.
Result<std::filesystem::path> write_elsewhere(const Record& record,
                                              const std::filesystem::path& name);

// Writes to the request's output, or else elsewhere. Sets the outcome's file and, if it differs
// from the request, why.
Status write_outcome(const Record& record, store::Database database, Outcome* outcome);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_RECORD_H_

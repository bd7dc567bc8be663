// record: what an experiment found, written into an .xsp file.
#ifndef XSP_EVALUATE_RECORD_H_
#define XSP_EVALUATE_RECORD_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/experiment.h"
#include "evaluate/peaks.h"
#include "store/database.h"

namespace xsp::evaluate {

// This moment as ISO 8601 in UTC, to the second: "2026-11-22T08:00:00Z".
std::string utc_now();

struct Record {
  const Request* request = nullptr;
  const std::vector<Run>* runs = nullptr;
  std::map<std::string, std::string> facts;  // rows of `evaluation`
  std::vector<Peak> peaks;
};

// As few digits as tell it: "1", "0.5".
std::string short_number(double number);
// What the runs and what was asked for add to the facts: device, framework, inputs, outputs, ...
std::map<std::string, std::string> facts_of(const Request& request, const std::vector<Run>& runs);
// The machine's clocks, temperatures and load, of the moment `when`: "before", "after".
std::map<std::string, std::string> facts_of_state(const MachineState& state,
                                                  const std::string& when);
// Notes about the device, then those of each run under its name.
std::vector<std::string> notes_of(const std::vector<std::string>& of_device,
                                  const std::vector<Run>& runs);

// Fills the database, and finishes it: afterwards it is at the path that it was created for.
Status write_record(const Record& record, store::Database& database);

// Where the path that was asked for cannot be written: the same in a folder of its own for
// temporary files, which stays if there is something in it. The file's path.
Result<std::filesystem::path> write_elsewhere(const Record& record,
                                              const std::filesystem::path& name);

// Writes to the request's output, or else elsewhere; sets the outcome's file, and why it is
// another.
Status write_outcome(const Record& record, store::Database database, Outcome* outcome);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_RECORD_H_

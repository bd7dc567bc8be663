// The faces of a sweep on the command line: its plan, its progress, its results.
#ifndef XSP_DESK_CLI_SWEEP_REPORT_H_
#define XSP_DESK_CLI_SWEEP_REPORT_H_

#include <string>

#include "desk/catalogue/catalogue.h"
#include "desk/cli/terminal.h"
#include "desk/sweep/sweep.h"

namespace xsp::cli {

// Prints the tasks and the time that each will take, if a catalogue at `place` knows it.
Status print_plan(const sweep::Plan& plan, const std::string& place);

// Returns a summary and a line for each task that runs, waits or failed.
std::string status_text(const sweep::Plan& plan, const sweep::View& view, const Terminal& terminal);

// Shows the progress on standard error: on a terminal one line that is redrawn, otherwise a line
// for each task that is settled.
class SweepProgress {
 public:
  SweepProgress(const sweep::Plan& plan, bool is_quiet);
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;
  ~SweepProgress();
  void show(const sweep::View& view);

 private:
  void show_settled(const sweep::View& view);

  const sweep::Plan& plan_;
  bool is_quiet_;
  bool is_terminal_;
  double began_at_;
  sweep::View last_;
};

// Adds the results and the tasks to the catalogue.
Status note_sweep(const std::string& place, const sweep::Plan& plan, const sweep::View& view,
                  bool is_quiet, const sweep::Folder& folder);
// Prints the table of the results, and why other tasks have none.
Status print_results(const std::string& place, const sweep::Folder& folder, const sweep::Plan& plan,
                     const sweep::View& view);
// Writes the pages of the sweep's own results.
Status write_sweep_site(const std::string& place, const sweep::Folder& folder, bool is_quiet);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SWEEP_REPORT_H_

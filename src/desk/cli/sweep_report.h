// The faces of a sweep on the command line: its plan, its progress, its results.
#ifndef XSP_DESK_CLI_SWEEP_REPORT_H_
#define XSP_DESK_CLI_SWEEP_REPORT_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

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

// Notes the tasks in the catalogue while they run, so that it tells of a sweep that is not over.
class SweepNotes {
 public:
  SweepNotes(std::string place, const sweep::Plan& plan) : place_(std::move(place)), plan_(plan) {}
  // Notes the sweep at its beginning. Fails if the catalogue cannot be written.
  Status begin(const sweep::View& view);
  // Notes what has changed, but seldom: it must not disturb what is measured. A catalogue that is
  // away for a while is left alone: the end of the sweep notes everything again.
  void show(const sweep::View& view);

 private:
  using Clock = std::chrono::steady_clock;

  std::string place_;
  const sweep::Plan& plan_;
  std::vector<sweep::State> noted_;
  Clock::time_point next_;
};

// Adds the results and the tasks to the catalogue, with the state in which the sweep ended.
Status note_sweep(const std::string& place, const sweep::Plan& plan, const sweep::View& view,
                  const std::string& state, bool is_quiet, const sweep::Folder& folder);
// Prints the table of the results, and why other tasks have none.
Status print_results(const std::string& place, const sweep::Folder& folder, const sweep::Plan& plan,
                     const sweep::View& view);
// Writes the pages of the sweep's own results.
Status write_sweep_site(const std::string& place, const sweep::Folder& folder, bool is_quiet);

}  // namespace xsp::cli

#endif  // XSP_DESK_CLI_SWEEP_REPORT_H_

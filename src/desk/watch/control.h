// Control: says which levels the watched processes record, and when. The control page of a run is
// used by the program that runs the command (`xsp run`) and by commands that change the recording
// meanwhile (`xsp ctl`).
//
// Thread rule: none of its own; processes read the page at any time.
#ifndef XSP_DESK_WATCH_CONTROL_H_
#define XSP_DESK_WATCH_CONTROL_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace xsp::process {
struct ControlPage;
}

namespace xsp::watch {

// The times and steps at which each process records, counted from its own start.
struct Schedule {
  double delay_s = 0;
  double duration_s = 0;   // 0: to the end of the process
  int64_t first_step = 0;  // steps count from 0
  int64_t end_step = -1;   // first step that is not recorded; -1: all steps to the last
  uint32_t sample_hz = 0;  // most samples of the threads' stacks in a second; 0: none
  uint32_t one_in = 0;     // with Leveled::kSampled: one step in so many is recorded in full

  bool is_whole() const {
    return delay_s == 0 && duration_s == 0 && first_step == 0 && end_step < 0;
  }
};

// The last reported state of a watched process.
struct WatchedProcess {
  int process = 0;
  std::string program;
  std::string levels;  // the levels recorded now; empty: none
  double age_s = 0;
  uint64_t steps = 0;
  std::string step_kind;  // "model", "optimizer", "mark"; empty: no step has been found
  bool is_alive = false;
};

// The size of a run's traces, and the data that was left out to keep them below their limit.
struct TraceRoom {
  struct GivenUp {
    uint32_t levels = 0;  // bits
    double after_s = 0;   // seconds since the page was made
  };
  uint64_t bytes = 0;
  uint64_t bytes_max = 0;         // the limit; 0: none
  std::vector<GivenUp> given_up;  // in order of time
  uint32_t left_out = 0;          // processes that were not recorded
};

class ControlFile {
 public:
  // Creates the page of the run with this folder; `xsp run` does so before the command starts.
  // `sets` are the levels that take turns in blocks of steps, the shallowest first; empty: there is
  // one set. `bytes_max` is the limit on the traces of all processes together; 0: no limit.
  static Result<ControlFile> create(const std::filesystem::path& folder, uint32_t levels,
                                    const std::vector<uint32_t>& sets, const Schedule& schedule,
                                    uint64_t bytes_max, const std::filesystem::path& output);
  // Returns the pages of the current runs that this user may write to.
  static std::vector<ControlFile> running();

  ControlFile(ControlFile&&) noexcept;
  ControlFile& operator=(ControlFile&&) noexcept;
  ~ControlFile();

  std::filesystem::path output() const;
  std::vector<WatchedProcess> processes() const;
  TraceRoom room() const;
  // Returns a line for the user that says why processes were not recorded. Returns an empty string
  // if all were.
  std::string note_of_unrecorded() const;
  // Returns the processor time of all watched processes so far. It is exact to a tenth of a second
  // for each running process.
  double processors_time_s() const;
  // Tells the running processes to record no more, because the command has ended. Returns these
  // processes when each has completed its trace, or after a second.
  std::vector<WatchedProcess> end();

  enum class What { kStart, kStop, kLevel };
  // Sends a command to one process, or to all current and future processes. `levels` are bits; 0:
  // unchanged. Processes obey within milliseconds, or between two of their steps.
  Status command(What what, uint32_t levels, std::optional<int> process);

 private:
  explicit ControlFile(process::ControlPage* page);
  static Result<ControlFile> open(const std::filesystem::path& path);
  process::ControlPage* page_ = nullptr;
  int64_t start_ns_ = 0;  // time on CLOCK_MONOTONIC
};

}  // namespace xsp::watch

#endif  // XSP_DESK_WATCH_CONTROL_H_

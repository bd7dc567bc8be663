// What processes that are watched record when: the control page of a run, for those who run the
// command (`xsp run`) and those who have something to say while it runs (`xsp ctl`).
//
// Thread rule: none of its own; processes read the page at any time.
#ifndef XSP_EVALUATE_ATTACH_CONTROL_H_
#define XSP_EVALUATE_ATTACH_CONTROL_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace xsp::capture {
struct ControlPage;
}

namespace xsp::evaluate {

// In every process, counted from its own start.
struct Schedule {
  double delay_s = 0;
  double duration_s = 0;   // 0: to the end
  int64_t first_step = 0;  // steps count from 0
  int64_t end_step = -1;   // not in it; -1: to the last
  uint32_t sample_hz = 0;  // looks at the threads' stacks in a second, at most; 0: none
  uint32_t one_in = 0;     // with Leveled::kSampled: one step of so many is recorded whole

  bool is_whole() const {
    return delay_s == 0 && duration_s == 0 && first_step == 0 && end_step < 0;
  }
};

// A watched process, as it last said.
struct WatchedProcess {
  int process = 0;
  std::string program;
  std::string levels;  // recorded now; empty: nothing is
  double age_s = 0;
  uint64_t steps = 0;
  std::string step_kind;  // "model", "optimizer", "mark"; empty: no steps were seen
  bool is_alive = false;
};

// How large the traces of a run became, and what was not recorded to keep them below their limit.
struct TraceRoom {
  struct GivenUp {
    uint32_t levels = 0;  // bits
    double after_s = 0;   // since the page was made
  };
  uint64_t bytes = 0;
  uint64_t bytes_max = 0;         // 0: there is none
  std::vector<GivenUp> given_up;  // in the order of time
  uint32_t left_out = 0;          // processes
};

class ControlFile {
 public:
  // The page of a run whose folder that is, made by `xsp run` before the command starts. `sets`:
  // levels that take turns in blocks of steps, the shallowest first; empty: there is one set.
  // `bytes_max`: of the traces of all processes together; 0: there is no limit.
  static Result<ControlFile> create(const std::filesystem::path& folder, uint32_t levels,
                                    const std::vector<uint32_t>& sets, const Schedule& schedule,
                                    uint64_t bytes_max, const std::filesystem::path& output);
  // The pages of the runs that go on now, of which this user may write.
  static std::vector<ControlFile> running();

  ControlFile(ControlFile&&) noexcept;
  ControlFile& operator=(ControlFile&&) noexcept;
  ~ControlFile();

  std::filesystem::path output() const;
  std::vector<WatchedProcess> processes() const;
  TraceRoom room() const;
  // Why processes were not recorded, in one line for people; empty: nothing kept any from it.
  std::string note_of_unrecorded() const;
  // Processors' time of all watched processes so far, to a tenth of a second for each that runs.
  double processors_time_s() const;
  // The command has ended: the processes that still run are told to record no more. Returns them,
  // when each has completed its trace, or after a second.
  std::vector<WatchedProcess> end();

  enum class What { kStart, kStop, kLevel };
  // To one process, or to all and those still to come. `levels`: bits; 0: as before. Processes
  // obey within milliseconds, or between two of their steps.
  Status command(What what, uint32_t levels, std::optional<int> process);

 private:
  explicit ControlFile(capture::ControlPage* page);
  static Result<ControlFile> open(const std::filesystem::path& path);
  capture::ControlPage* page_ = nullptr;
  int64_t start_ns_ = 0;  // on CLOCK_MONOTONIC
};

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_ATTACH_CONTROL_H_

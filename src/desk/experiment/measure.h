// measure(): runs several subjects in turns until their latencies are known well enough.
//
// Each subject is warmed up by itself, in a random order, until its latencies are steady (steady.h,
// steady_from). Then come rounds. In each round, every subject runs one block of iterations, in a
// new random order. So a drift of the machine affects all subjects alike, and the blocks of a round
// can be compared in pairs. A block begins when the subject of the previous block has settled. The
// rounds end when every subject's 95 % interval, the one that is printed (statistics/typical.h), is
// narrow enough; or at a limit.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_DESK_EXPERIMENT_MEASURE_H_
#define XSP_DESK_EXPERIMENT_MEASURE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desk/experiment/listener.h"
#include "desk/experiment/subject.h"
#include "desk/machine/machine.h"
#include "desk/statistics/typical.h"
#include "shared/base/result.h"

namespace xsp::experiment {

inline constexpr double kNsPerSecond = 1e9;

struct Limits {
  double width = 0.01;  // half the interval relative to the latency; 0: no width is narrow enough
  // The time of all subjects together. Includes the warm-up, but not each subject's first
  // iteration.
  double time_s = 60;
  double block_s = 0.2;
  int block_iterations_max = 500;
  int rounds_min = statistics::kBlocksMin;  // the fewest that have an interval
  int iterations_max = 5000;                // measured, of each subject
  double warmup_share = 0.2;                // of the time, at most, for all subjects together
  // For subjects that are compared with each other: equal_blocks() chooses the length of the
  // blocks, and the blocks of a round begin on the same processors.
  bool equal_blocks = false;
};

struct MeasuredBlock {
  int round = 0;
  int first_iteration = 0;
  int iterations = 0;
  int64_t start_ns = 0;  // UNIX time
  int64_t duration_ns = 0;
  double median_ns = 0;           // expected duration of one iteration in the next block
  machine::MachineState machine;  // state at the end of the block
};

struct Series {
  int warmup_iterations = 0;
  bool warmup_settled = false;
  std::vector<double> latencies_ns;  // measured latencies, in order
  std::vector<MeasuredBlock> blocks;
  statistics::Estimate latency_ns;
  std::string stopped_by;  // 'interval', 'time', 'iterations', 'interrupt', 'failure'
  std::optional<Error> failure;
};

struct Environment {
  std::function<int64_t()> now_ns;  // UNIX time that never steps back
  std::function<machine::MachineState()> machine_state;
};
// Returns the environment of real time and this machine.
Environment this_environment();

struct SubjectInfo {
  std::string levels;  // the levels' names, for the listener
  std::optional<int> batch;
  int iterations_before = 0;  // iterations that it has run already; they count as warm-up
  int iterations_max = 0;     // total iterations that it can run; 0: no limit
  int block_iterations = 0;   // iterations of each block; 0: as many as fill the limits' time
};

// Returns one series for each subject, in the same order. Returns when done, or soon after `stop`
// exceeds 0, with the measurements until then.
std::vector<Series> measure(std::span<Subject* const> subjects, std::span<const SubjectInfo> infos,
                            const Limits& limits, uint64_t seed, const Environment& environment,
                            Listener& listener, const std::atomic<int>& stop);

struct BlockLength {
  double undisturbed_ns = 0;  // the fastest iteration seen
  double expected_ns = 0;     // what an iteration takes beside the programs that run now
};
// Returns how many iterations a block of each subject has, so that a block takes block_s on
// average. Beside other programs, the scheduler favours a process that has just rested. So equal
// subjects with blocks of different lengths would have different latencies, by 8 to 16 % on a
// machine with two processors and two busy programs. Subjects that are about equally fast therefore
// have equally many iterations. Other subjects have blocks that take equally long where nothing
// disturbs them.
std::vector<int> equal_blocks(std::span<const BlockLength> subjects, double block_s,
                              int iterations_max);

// b - a of two series that were measured in turns.
statistics::Difference difference(const Series& a, const Series& b);
// Returns the latency of the measured values, by their blocks.
statistics::Estimate latency_of(const Series& series);
// Returns whether the printed interval is within the width.
bool is_settled(const Series& series, const Limits& limits);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_MEASURE_H_

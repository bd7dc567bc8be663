// Experiment: carries out a plan. It opens workers, measures them in turns, and joins their traces
// into one .xsp file.
//
// A failure costs as little as possible: a worker that dies costs its run; a batch size that does
// not fit into memory costs itself; an interrupt ends the measurement and keeps the results so far;
// an output file that cannot be written is written elsewhere.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_DESK_EXPERIMENT_EXPERIMENT_H_
#define XSP_DESK_EXPERIMENT_EXPERIMENT_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "desk/experiment/listener.h"
#include "desk/experiment/measure.h"
#include "desk/experiment/plan.h"
#include "desk/experiment/worker.h"
#include "shared/base/result.h"

namespace xsp::experiment {

struct Request {
  Plan plan;
  WorkerOptions worker;  // for every run; the experiment sets levels, batch, trace and scratch
  WorkerLimits worker_limits;
  Limits limits;  // time_s is for all runs together, without the opening of their models
  bool measure_peaks = true;
  // Collectors that report the device's attributes and state. Empty for the processor.
  std::vector<std::filesystem::path> monitors;
  std::filesystem::path output;
  // Rows of `evaluation` that the caller knows: model, command, xsp_version, ...
  std::map<std::string, std::string> facts;
  // Name and type of the layers in the model's own file, in its order. Empty: unknown.
  std::vector<std::pair<std::string, std::string>> model_layers;
};

// One process of a run that has several processes, one after another.
struct ProcessPart {
  std::filesystem::path trace;
  int warmup_iterations = 0;
  int iterations = 0;  // measured iterations
};

struct Run {
  PlannedRun planned;
  bool started = false;  // its worker was asked to open the model
  std::optional<Ready> ready;
  Series series;
  std::filesystem::path trace;
  std::vector<ProcessPart> processes;  // used instead of `trace`, in order; each process is a block
  std::vector<std::string> notes;      // notes of its worker

  std::string status() const;  // as in the table `run`
  std::string reason() const;  // one line, unless the status is 'ok'
};

// The latency that recording a level, or counting, adds to the model's latency at one batch size.
struct Overhead {
  int run_id = 0;
  int without_run_id = 0;  // the run with the next shallower set of levels, or without counters
  statistics::Difference latency_ns;
};

// Compares each run that took turns with the run that differs from it in one thing: a level, or the
// counters.
std::vector<Overhead> overheads_of(const std::vector<Run>& runs);
// Returns the reasons to doubt the numbers: the device reduced its clock, or its clock changed.
std::vector<std::string> doubts_about_device(const std::vector<Series>& series);

// The use of the experiment's processors by others.
struct Load {
  double other_s = 0;     // used by other programs
  double stolen_s = 0;    // used by other machines of the hypervisor
  double capacity_s = 0;  // the time multiplied by the number of processors

  double other_share() const { return capacity_s > 0 ? other_s / capacity_s : 0; }
  double stolen_share() const { return capacity_s > 0 ? stolen_s / capacity_s : 0; }
};
// Returns the load between two readings of the same processors, `duration_s` apart. `ours_s` is the
// processor time of our own processes. Returns nothing if a reading is missing or the time is too
// short.
std::optional<Load> load_between(const std::optional<machine::CpuTimes>& before,
                                 const std::optional<machine::CpuTimes>& after, double ours_s,
                                 double duration_s);
// Returns the reasons to doubt the numbers because others used the processors.
std::vector<std::string> doubts_about_load(const Load& load);
// Returns facts about the loads during the measurement: the mean over time, and the highest.
std::map<std::string, std::string> facts_about_load(const std::vector<Load>& loads);

struct Outcome {
  std::filesystem::path file;  // the path of the evaluation
  std::vector<Run> runs;
  std::vector<Overhead> overheads;
  bool interrupted = false;
  // Set if the evaluation could not be written to the requested path: the reason.
  std::optional<Error> misplaced;
};

// Fails if nothing could be measured, with the first run's error, or if nothing could be written.
Result<Outcome> run_experiment(const Request& request, Listener& listener,
                               const std::atomic<int>& stop);

}  // namespace xsp::experiment

#endif  // XSP_DESK_EXPERIMENT_EXPERIMENT_H_

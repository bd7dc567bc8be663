// Experiment: a plan carried out. Workers are opened, measured in turns, and their traces become
// one .xsp file.
//
// What goes wrong costs as little as it can: a worker that dies costs its run; a batch size that
// does not fit costs itself; an interrupt ends the measuring and keeps what there is; an output
// file that cannot be written is written elsewhere.
//
// Thread rule: everything happens on the calling thread.
#ifndef XSP_EVALUATE_EXPERIMENT_H_
#define XSP_EVALUATE_EXPERIMENT_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "evaluate/listener.h"
#include "evaluate/measure.h"
#include "evaluate/plan.h"
#include "evaluate/worker.h"

namespace xsp::evaluate {

struct Request {
  Plan plan;
  WorkerOptions worker;  // of every run; its levels, batch, trace and scratch are the experiment's
  WorkerLimits worker_limits;
  Limits limits;  // time_s: of all runs together, but for opening their models
  bool measure_peaks = true;
  // Collectors that tell what the device is and in which state; none for the processor.
  std::vector<std::filesystem::path> monitors;
  std::filesystem::path output;
  // Rows of `evaluation` that the caller knows: model, command, xsp_version, ...
  std::map<std::string, std::string> facts;
  // The layers of the model's own file, name and type, in its order; empty: unknown.
  std::vector<std::pair<std::string, std::string>> model_layers;
};

// A process of a run that has several, one after another.
struct ProcessPart {
  std::filesystem::path trace;
  int warmup_iterations = 0;
  int iterations = 0;  // measured
};

struct Run {
  PlannedRun planned;
  bool started = false;  // its worker was asked to open the model
  std::optional<Ready> ready;
  Series series;
  std::filesystem::path trace;
  std::vector<ProcessPart> processes;  // instead of `trace`, in order; each is a block
  std::vector<std::string> notes;      // of its worker

  std::string status() const;  // as in the table `run`
  std::string reason() const;  // one line, unless the status is 'ok'
};

// The latency that a level or counting adds to the model's, at one batch size.
struct Overhead {
  int run_id = 0;
  int without_run_id = 0;  // with the next shallower set of levels; or without counters
  statistics::Difference latency_ns;
};

// Of each run that took turns with the one that it differs from by one thing: a level, or the
// counters.
std::vector<Overhead> overheads_of(const std::vector<Run>& runs);
// What makes the numbers doubtful: the device held its clock down, or its clock moved.
std::vector<std::string> doubts_about_device(const std::vector<Series>& series);

// Whom else the processors served that the experiment may use.
struct Load {
  double other_s = 0;     // other programs
  double stolen_s = 0;    // other machines of the hypervisor
  double capacity_s = 0;  // the time times the processors

  double other_share() const { return capacity_s > 0 ? other_s / capacity_s : 0; }
  double stolen_share() const { return capacity_s > 0 ? stolen_s / capacity_s : 0; }
};
// `ours_s`: the processors' time that was our own, of the `duration_s` between the two readings of
// the same processors; nothing where either is not known, or the time is too short to tell.
std::optional<Load> load_between(const std::optional<CpuTimes>& before,
                                 const std::optional<CpuTimes>& after, double ours_s,
                                 double duration_s);
// What makes the numbers doubtful: others used the processors.
std::vector<std::string> doubts_about_load(const Load& load);
// Facts about the loads of what was measured: their mean over the time, and the highest.
std::map<std::string, std::string> facts_about_load(const std::vector<Load>& loads);

struct Outcome {
  std::filesystem::path file;  // where the evaluation is
  std::vector<Run> runs;
  std::vector<Overhead> overheads;
  bool interrupted = false;
  // Set if the evaluation had to be written elsewhere than asked for: why.
  std::optional<Error> misplaced;
};

// Fails if nothing could be measured, with the first run's error, or if nothing could be written.
Result<Outcome> run_experiment(const Request& request, Listener& listener,
                               const std::atomic<int>& stop);

}  // namespace xsp::evaluate

#endif  // XSP_EVALUATE_EXPERIMENT_H_

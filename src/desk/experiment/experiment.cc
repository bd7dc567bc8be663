#include "desk/experiment/experiment.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "desk/experiment/counted.h"
#include "desk/experiment/monitor.h"
#include "desk/experiment/record.h"
#include "desk/machine/peaks.h"
#include "desk/store/database.h"
#include "shared/base/levels.h"
#include "shared/base/scratch.h"
#include "shared/base/words.h"
#include "xsp/xsp.h"

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// Memory that each further worker needs, relative to the first worker's peak.
constexpr double kMemoryMargin = 1.1;
// The share of a batch size's time that a stretch without a pause takes, and its bounds in seconds.
constexpr double kStretchShare = 0.1;
constexpr double kStretchMin = 2;
constexpr double kStretchMax = 10;

double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

class Experiment {
 public:
  Experiment(const Request& request, Listener& listener, const std::atomic<int>& stop)
      : request_(request),
        listener_(listener),
        stop_(stop),
        monitors_(request.worker.device, stop) {
    environment_ = this_environment();
    environment_.machine_state = [this, host = environment_.machine_state] {
      machine::MachineState state = host();
      state.device = monitors_.state();
      return state;
    };
    for (const PlannedRun& planned : request.plan.runs) {
      Run run;
      run.planned = planned;
      runs_.push_back(std::move(run));
    }
    workers_.resize(runs_.size());
  }

  Result<Outcome> run() {
    // The file is created first, so that a failure to write it shows before any measurement.
    XSP_TRY(store::Database database, store::Database::create(request_.output));
    XSP_TRY(scratch_, ScratchFolder::create());
    facts_ = request_.facts;
    facts_["started_at"] = utc_now();
    if (!request_.monitors.empty()) {
      listener_.step("asking " + request_.worker.device + " what it is");
      monitors_.start(request_.worker.program, request_.monitors);
      tell_monitors_notes();
    }
    keep_state("before");
    for (size_t first = 0; first < runs_.size() && !refused_;) {
      size_t end = first + 1;
      while (end < runs_.size() && runs_[end].planned.batch == runs_[first].planned.batch) ++end;
      // The remaining batch sizes share the remaining time.
      const double left_s = std::max(0.0, request_.limits.time_s - measured_s_);
      const double share =
          static_cast<double>(end - first) / static_cast<double>(runs_.size() - first);
      run_batch(first, end, left_s * share);
      first = end;
    }
    keep_state("after");
    facts_["ended_at"] = utc_now();
    if (refused_) return *refused_;
    if (!anything_measured()) return nothing_measured();
    return write(std::move(database));
  }

 private:
  bool stopped() const { return stop_.load(std::memory_order_relaxed) > 0; }

  bool anything_measured() const {
    return std::any_of(runs_.begin(), runs_.end(),
                       [](const Run& run) { return !run.series.latencies_ns.empty(); });
  }

  Error nothing_measured() const {
    for (const Run& run : runs_) {
      if (run.series.failure && run.series.failure->code != Code::kInterrupted) {
        return *run.series.failure;
      }
    }
    return {Code::kInterrupted, "interrupted before anything was measured"};
  }

  // Measures all runs of one batch size: those that take turns together, then the others one by
  // one.
  void run_batch(size_t first, size_t end, double time_s) {
    size_t middle = first;
    double stretches_s = 0;
    for (size_t i = first; i < end; ++i) {
      if (runs_[i].planned.pace == Pace::kInterleaved) middle = i + 1;
      if (runs_[i].planned.pace == Pace::kStretch) stretches_s += stretch_s(time_s);
    }
    run_interleaved(first, middle, std::max(0.0, time_s - stretches_s));
    for (size_t i = middle; i < end && !stopped() && !refused_; ++i) {
      if (!has_no_memory(i)) run_alone(i, time_s);
    }
  }

  // Measures the runs together if memory permits, else one after another.
  void run_interleaved(size_t first, size_t end, double time_s) {
    std::optional<size_t> opened;
    const machine::DeviceState before = monitors_.state();
    for (size_t i = first; i < end && !stopped() && !opened && !refused_; ++i) {
      if (!has_no_memory(i) && open(i)) opened = i;
    }
    if (!opened) return;
    if (all_fit(*opened, end) && all_fit_on_device(before, *opened, end)) {
      for (size_t i = *opened + 1; i < end && !stopped(); ++i) open(i);
      run_group(*opened, end, time_s);
      return;
    }
    warn(
        "the sets of levels are measured one after another, so that drift of the machine does "
        "not cancel: their workers do not fit into the memory together");
    const double share_s = time_s / static_cast<double>(end - *opened);
    for (size_t i = *opened; i < end; ++i) {
      if (i > *opened && (stopped() || !open(i))) continue;
      run_group(i, i + 1, share_s);
    }
  }

  // Returns whether the bare model of this batch size ran out of memory. Every other run of this
  // batch size would, too.
  bool has_no_memory(size_t i) {
    for (size_t k = i; k-- > 0 && runs_[k].planned.batch == runs_[i].planned.batch;) {
      const auto& failure = runs_[k].series.failure;
      const bool is_bare = runs_[k].planned.levels == XSP_LEVEL_BIT(XSP_LEVEL_MODEL);
      if (!is_bare || !failure || failure->code != Code::kOutOfMemory) continue;
      runs_[i].started = true;
      runs_[i].series.failure = failure;
      runs_[i].series.stopped_by = "failure";
      return true;
    }
    return false;
  }

  static double stretch_s(double time_s) {
    return std::clamp(time_s * kStretchShare, kStretchMin, kStretchMax);
  }

  // Measures a run whose counters set the pace.
  void run_alone(size_t i, double time_s) {
    if (!open(i)) return;
    Run& run = runs_[i];
    const bool is_stretch = run.planned.pace == Pace::kStretch;
    listener_.step("counting " + joined(run.planned.counters, ",") + " (" + name_of(run.planned) +
                   ")");
    const int done = run.series.warmup_iterations;
    FewLimits limits;
    limits.time_s = time_s;
    const TimePoint start = steady_clock::now();
    run.series = is_stretch
                     ? measure_stretch(*workers_[i], done, stretch_s(time_s), environment_, stop_)
                     : measure_few(*workers_[i], done, run.ready->iterations_needed, limits,
                                   environment_, stop_);
    if (is_stretch) measured_s_ += seconds_since(start);
    if (run.series.failure) {
      fail(i, Error(*run.series.failure));
    } else {
      end_worker(i);
    }
  }

  // Opens the model and runs it once, to see whether it runs and what time and memory it takes.
  bool open(size_t i) {
    Run& run = runs_[i];
    listener_.step("opening the model and running it once (" + name_of(run.planned) + ")");
    const std::string id = std::to_string(run.planned.run_id);
    WorkerOptions options = request_.worker;
    options.levels = levels_text(run.planned.levels);
    options.batch = run.planned.batch;
    options.counters = run.planned.counters;
    options.collectors = run.planned.collectors;
    options.trace = scratch_->path() / (id + ".xtrace");
    options.scratch = scratch_->path() / id;
    run.trace = options.trace;
    run.started = true;
    std::error_code error;
    fs::create_directory(options.scratch, error);
    options.take_note = [&](std::string note) { keep_note(i, std::move(note)); };
    auto worker = Worker::start(options, request_.worker_limits, stop_);
    if (!worker.ok()) {
      if (i == 0 && concerns_all(worker.error())) refused_ = worker.error();
      fail(i, worker.error());
      return false;
    }
    workers_[i] = std::move(worker).value();
    run.ready = workers_[i]->ready();
    const auto block = workers_[i]->warm(1, 0);
    if (!block.ok()) {
      fail(i, block.error());
      return false;
    }
    run.series.warmup_iterations = 1;
    return true;
  }

  // Returns whether all runs would fail like the first one, to open the model: the model, its input
  // or an option is invalid. Another batch size may be one that the framework takes.
  bool concerns_all(const Error& failure) const {
    if (failure.code == Code::kInterrupted || failure.code == Code::kOutOfMemory) return false;
    if (failure.code != Code::kFailed) return true;
    return !is_of_process(failure) && runs_.front().planned.batch == runs_.back().planned.batch;
  }

  void fail(size_t i, const Error& error) {
    Run& run = runs_[i];
    const bool interrupted = error.code == Code::kInterrupted;
    run.series.failure = error;
    run.series.stopped_by = interrupted ? "interrupt" : "failure";
    collect_notes(i);
    workers_[i].reset();
    if (!interrupted && !refused_)
      warn("not measured: " + name_of(run.planned) + ": " + error.text);
  }

  bool all_fit(size_t opened, size_t end) {
    const size_t others = end - opened - 1;
    const auto available = machine_.available_memory_bytes();
    const uint64_t each = workers_[opened]->process().peak_memory_bytes();
    if (others == 0 || !available) return true;
    const double needed = static_cast<double>(others) * static_cast<double>(each) * kMemoryMargin;
    if (needed <= static_cast<double>(*available)) return true;
    return false;
  }

  // Does the same for the device's memory. The first worker uses the difference to `before`.
  bool all_fit_on_device(const machine::DeviceState& before, size_t opened, size_t end) {
    const size_t others = end - opened - 1;
    const machine::DeviceState now = monitors_.state();
    if (others == 0 || !before.memory_used_bytes || !now.memory_used_bytes ||
        !now.memory_total_bytes) {
      return true;
    }
    const double each = std::max(0.0, *now.memory_used_bytes - *before.memory_used_bytes);
    const double available = *now.memory_total_bytes - *now.memory_used_bytes;
    return static_cast<double>(others) * each * kMemoryMargin <= available;
  }

  // Measures the open workers of runs [first, end) in turns, and ends them.
  void run_group(size_t first, size_t end, double time_s) {
    std::vector<Subject*> subjects;
    std::vector<SubjectInfo> infos;
    std::vector<size_t> indices;
    for (size_t i = first; i < end; ++i) {
      if (workers_[i] == nullptr) continue;
      subjects.push_back(workers_[i].get());
      infos.push_back({levels_text(runs_[i].planned.levels), runs_[i].planned.batch,
                       runs_[i].series.warmup_iterations, runs_[i].ready->iterations_max});
      indices.push_back(i);
    }
    Limits limits = request_.limits;
    limits.time_s = time_s;
    const auto before = machine_.cpu_times(processors_);
    const double ours_before = workers_cpu_s(indices);
    const TimePoint start = steady_clock::now();
    std::vector<Series> series =
        measure(subjects, infos, limits, request_.worker.seed, environment_, listener_, stop_);
    for (const std::string& text : doubts_about_device(series)) warn(text);
    // Counts at most time_s, because the limit does not include the first inferences.
    measured_s_ += std::min(seconds_since(start), time_s);
    const double ours_s = workers_cpu_s(indices) - ours_before;
    const auto load =
        load_between(before, machine_.cpu_times(processors_), ours_s, seconds_since(start));
    if (load) {
      for (const std::string& text : doubts_about_load(*load)) warn(text);
      loads_.push_back(*load);
    }
    for (size_t k = 0; k < indices.size(); ++k) {
      const size_t i = indices[k];
      runs_[i].series = std::move(series[k]);
      if (runs_[i].series.failure) {
        fail(i, Error(*runs_[i].series.failure));
      } else {
        end_worker(i);
      }
    }
  }

  void end_worker(size_t i) {
    Run& run = runs_[i];
    listener_.step("collecting the trace (" + name_of(run.planned) + ")");
    const Status status = workers_[i]->finish();
    if (!status.ok()) {
      fail(i, status.error());
      return;
    }
    collect_notes(i);
    workers_[i].reset();
    if (!run.series.warmup_settled && !stopped()) {
      warn("the latency had not settled when the time for warm-up was over (" +
           name_of(run.planned) + "): allow more with --max-time");
    }
  }

  void collect_notes(size_t i) {
    if (workers_[i] == nullptr) return;
    for (std::string& note : workers_[i]->take_notes()) keep_note(i, std::move(note));
  }

  void keep_note(size_t i, std::string note) {
    const bool is_new = std::none_of(runs_.begin(), runs_.end(), [&note](const Run& run) {
      return std::find(run.notes.begin(), run.notes.end(), note) != run.notes.end();
    });
    if (is_new) listener_.note(note);
    runs_[i].notes.push_back(std::move(note));
  }

  double workers_cpu_s(const std::vector<size_t>& indices) const {
    double sum = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    for (const size_t i : indices) sum += workers_[i]->process().cpu_seconds();
    return sum;
  }

  void warn(const std::string& text) {
    listener_.warn(text);
    warnings_.push_back(text);
  }

  void keep_state(const std::string& when) {
    facts_.merge(facts_of_state(environment_.machine_state(), when));
  }

  void gather_facts() {
    for (const auto& [key, value] : machine_.facts()) facts_["machine." + key] = value;
    facts_.merge(facts_of(request_, runs_));
    for (const auto& [key, value] : monitors_.facts()) facts_[key] = value;
    facts_.merge(facts_about_load(loads_));
    int number = 0;
    for (const std::string& note : notes_of(monitor_notes_, runs_)) {
      facts_["note." + std::to_string(++number)] = note;
    }
    number = 0;
    for (const std::string& text : warnings_) facts_["warning." + std::to_string(++number)] = text;
  }

  void tell_monitors_notes() {
    for (std::string& note : monitors_.take_notes()) {
      listener_.note(note);
      monitor_notes_.push_back(std::move(note));
    }
  }

  std::vector<machine::Peak> peaks() {
    if (!request_.measure_peaks || stopped()) return {};
    listener_.step("measuring the machine's ceilings");
    if (request_.worker.device != "cpu") {
      monitors_.measure();
      tell_monitors_notes();
      return monitors_.peaks();
    }
    int threads = machine::usable_processors();
    for (const Run& run : runs_) {
      if (run.ready && run.ready->threads) threads = std::min(threads, *run.ready->threads);
    }
    machine::PeakReport report = machine::measure_peaks(threads);
    facts_["peak.instruction_set"] = report.instruction_set;
    facts_["peak.threads"] = std::to_string(report.threads);
    return std::move(report.peaks);
  }

  Result<Outcome> write(store::Database database) {
    Outcome outcome;
    outcome.interrupted = stopped();
    Record record{&request_, &runs_, {}, peaks(), {}};
    gather_facts();
    record.facts = facts_;
    listener_.step("writing " + request_.output.string());
    XSP_CHECK_OK(write_outcome(record, std::move(database), &outcome));
    outcome.overheads = overheads_of(runs_);
    outcome.runs = std::move(runs_);
    return outcome;
  }

  const Request& request_;
  Listener& listener_;
  const std::atomic<int>& stop_;
  const machine::Machine machine_;
  const std::set<int> processors_ = machine::usable_processor_numbers();
  Monitors monitors_;
  std::vector<std::string> monitor_notes_;
  Environment environment_;
  std::unique_ptr<ScratchFolder> scratch_;
  std::vector<Run> runs_;
  std::vector<std::unique_ptr<Worker>> workers_;  // of the runs that are open
  double measured_s_ = 0;                         // the part of the limits' time that is spent
  std::vector<Load> loads_;                       // load of the processors while workers took turns
  std::map<std::string, std::string> facts_;
  std::vector<std::string> warnings_;
  std::optional<Error> refused_;  // why the whole experiment cannot succeed
};

}  // namespace

std::string Run::status() const {
  if (series.failure && series.failure->code != Code::kInterrupted) return "failed";
  if (!started || series.failure || series.stopped_by == "interrupt") return "interrupted";
  return "ok";
}

std::string Run::reason() const {
  if (series.failure) return series.failure->text;
  if (!started) return "interrupted before it began";
  return series.stopped_by == "interrupt" ? "interrupted by the user" : "";
}

Result<Outcome> run_experiment(const Request& request, Listener& listener,
                               const std::atomic<int>& stop) {
  Experiment experiment(request, listener, stop);
  return experiment.run();
}

}  // namespace xsp::experiment

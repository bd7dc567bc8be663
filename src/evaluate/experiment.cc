#include "evaluate/experiment.h"

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "evaluate/peaks.h"
#include "evaluate/record.h"
#include "evaluate/scratch.h"
#include "store/database.h"

namespace xsp::evaluate {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// Memory that a further worker needs, relative to what the first one took at its largest.
constexpr double kMemoryMargin = 1.1;
// Shares of the processors' time above which the numbers are doubtful.
constexpr double kForeignLoadMax = 0.05;
constexpr double kStolenMax = 0.02;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string mebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::string name_of(const PlannedRun& run) {
  return levels_text(run.levels) + (run.counters.empty() ? "" : " with counters") +
         (run.batch ? ", batch " + std::to_string(*run.batch) : "");
}

class Experiment {
 public:
  Experiment(const Request& request, Listener& listener, const std::atomic<int>& stop)
      : request_(request), listener_(listener), stop_(stop) {
    for (const PlannedRun& planned : request.plan.runs) {
      Run run;
      run.planned = planned;
      runs_.push_back(std::move(run));
    }
    workers_.resize(runs_.size());
  }

  Result<Outcome> run() {
    // First, so that a file that cannot be written is known before anything is measured.
    XSP_TRY(store::Database database, store::Database::create(request_.output));
    XSP_TRY(scratch_, ScratchFolder::create());
    facts_ = request_.facts;
    facts_["started_at"] = utc_now();
    keep_state("before");
    const TimePoint start = steady_clock::now();
    for (size_t first = 0; first < runs_.size() && !refused_;) {
      size_t end = first + 1;
      while (end < runs_.size() && runs_[end].planned.batch == runs_[first].planned.batch) ++end;
      // The batches still to come share what is left of the time.
      const double left_s = std::max(0.0, request_.limits.time_s - seconds_since(start));
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

  // All runs of one batch size: at once if memory permits, else one after another.
  void run_batch(size_t first, size_t end, double time_s) {
    std::optional<size_t> opened;
    for (size_t i = first; i < end && !stopped() && !opened && !refused_; ++i) {
      if (open(i)) opened = i;
    }
    if (!opened) return;
    if (all_fit(*opened, end)) {
      for (size_t i = *opened + 1; i < end && !stopped(); ++i) open(i);
      run_group(*opened, end, time_s);
      return;
    }
    const double share_s = time_s / static_cast<double>(end - *opened);
    for (size_t i = *opened; i < end; ++i) {
      if (i > *opened && (stopped() || !open(i))) continue;
      run_group(i, i + 1, share_s);
    }
  }

  // Opens the model and runs it once, to see that it runs and what it takes.
  bool open(size_t i) {
    Run& run = runs_[i];
    listener_.step("opening the model (" + name_of(run.planned) + ")");
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
    auto worker = Worker::start(options, request_.worker_limits, stop_);
    if (!worker.ok()) {
      // A model or an input that is no good will be no better for the other runs.
      const Code code = worker.error().code;
      if (i == 0 && code != Code::kFailed && code != Code::kInterrupted) refused_ = worker.error();
      fail(i, worker.error());
      return false;
    }
    workers_[i] = std::move(worker).value();
    run.ready = workers_[i]->ready();
    const auto block = workers_[i]->run(1, 0);
    if (!block.ok()) {
      fail(i, block.error());
      return false;
    }
    run.series.warmup_iterations = 1;
    return true;
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
    warn(
        "the sets of levels are measured one after another, so that drift of the machine does not "
        "cancel: a worker takes " +
        mebibytes(each) + ", and " + mebibytes(*available) + " are available");
    return false;
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
    const auto before = machine_.cpu_times();
    const double ours_before = workers_cpu_s(indices);
    const TimePoint start = steady_clock::now();
    std::vector<Series> series =
        measure(subjects, infos, limits, request_.worker.seed, environment_, listener_, stop_);
    judge_load(before, workers_cpu_s(indices) - ours_before, seconds_since(start));
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
    for (std::string& note : workers_[i]->take_notes()) {
      const bool is_new = std::none_of(runs_.begin(), runs_.end(), [&note](const Run& run) {
        return std::find(run.notes.begin(), run.notes.end(), note) != run.notes.end();
      });
      if (is_new) listener_.note(note);
      runs_[i].notes.push_back(std::move(note));
    }
  }

  double workers_cpu_s(const std::vector<size_t>& indices) const {
    double sum = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    for (const size_t i : indices) sum += workers_[i]->process().cpu_seconds();
    return sum;
  }

  // Who else used the processors while we measured?
  void judge_load(const std::optional<CpuTimes>& before, double ours_s, double duration_s) {
    const auto after = machine_.cpu_times();
    if (!before || !after || duration_s < 1) return;  // counted in hundredths of a second
    const double capacity_s = duration_s * usable_processors();
    const double foreign = (after->busy_s - before->busy_s - ours_s) / capacity_s;
    const double stolen = (after->stolen_s - before->stolen_s) / capacity_s;
    if (foreign > kForeignLoadMax) {
      warn("other programs used " + percent(foreign) +
           " of the processors while this was measured: stop them for undisturbed numbers");
    }
    if (stolen > kStolenMax) {
      warn("the hypervisor gave " + percent(stolen) + " of the processors' time to other machines");
    }
  }

  void warn(const std::string& text) {
    listener_.warn(text);
    warnings_.push_back(text);
  }

  void keep_state(const std::string& when) {
    const MachineState state = machine_.state();
    const auto put = [&](const char* name, const std::optional<double>& value) {
      if (value) facts_["machine." + (name + ("_" + when))] = std::to_string(*value);
    };
    put("cpu_mhz", state.cpu_mhz);
    put("temperature_c", state.temperature_c);
    put("load_1min", state.load_1min);
  }

  void gather_facts() {
    for (const auto& [key, value] : machine_.facts()) facts_["machine." + key] = value;
    for (const auto& [what, reason] : request_.plan.not_measured) {
      facts_["not_measured." + what] = reason;
    }
    facts_["device"] = request_.worker.device;
    facts_["seed"] = std::to_string(request_.worker.seed);
    for (const Run& run : runs_) {
      if (!run.ready) continue;
      facts_["framework"] = run.ready->framework;
      facts_["framework_version"] = run.ready->framework_version;
      facts_["device"] = run.ready->device;
      for (const TensorText& t : run.ready->inputs) {
        facts_["input." + t.name] = t.dtype + "[" + t.dimensions + "]";
      }
      for (const TensorText& t : run.ready->outputs) {
        facts_["output." + t.name] = t.dtype + "[" + t.dimensions + "]";
      }
      break;
    }
    int number = 0;
    for (const Run& run : runs_) {
      for (const std::string& note : run.notes) {
        facts_["note." + std::to_string(++number)] = name_of(run.planned) + ": " + note;
      }
    }
    number = 0;
    for (const std::string& text : warnings_) facts_["warning." + std::to_string(++number)] = text;
  }

  std::vector<Peak> peaks() {
    if (!request_.measure_peaks || stopped()) return {};
    listener_.step("measuring the machine's ceilings");
    int threads = usable_processors();
    for (const Run& run : runs_) {
      if (run.ready && run.ready->threads) threads = std::min(threads, *run.ready->threads);
    }
    PeakReport report = measure_peaks(threads);
    facts_["peak.instruction_set"] = report.instruction_set;
    facts_["peak.threads"] = std::to_string(report.threads);
    return std::move(report.peaks);
  }

  Result<Outcome> write(store::Database database) {
    Outcome outcome;
    outcome.interrupted = stopped();
    Record record{&request_, &runs_, {}, peaks()};
    gather_facts();
    record.facts = facts_;
    listener_.step("writing " + request_.output.string());
    outcome.file = request_.output;
    Status status = write_record(record, database);
    if (!status.ok()) {
      // What was measured is worth more than where it was wanted.
      outcome.misplaced =
          failed(request_.output.string() + ": cannot be written: " + status.error().text);
      auto elsewhere = write_elsewhere(record);
      if (!elsewhere.ok()) return *outcome.misplaced;
      outcome.file = std::move(elsewhere).value();
    }
    outcome.overheads = overheads();
    outcome.runs = std::move(runs_);
    return outcome;
  }

  // Each run against the one that it differs from by one thing: a level, or the counters.
  std::vector<Overhead> overheads() const {
    std::vector<Overhead> found;
    size_t first = 0;  // of the batch
    for (size_t i = 1; i < runs_.size(); ++i) {
      const bool same_batch = runs_[i].planned.batch == runs_[first].planned.batch;
      if (!same_batch) first = i;
      if (!same_batch) continue;
      const Run& without = runs_[i].planned.counters.empty() ? runs_[i - 1] : runs_[first];
      const Difference latency = difference(without.series, runs_[i].series);
      if (latency.pairs == 0) continue;
      found.push_back({runs_[i].planned.run_id, without.planned.run_id, latency});
    }
    return found;
  }

  // In a folder of its own for temporary files, which stays if there is something in it.
  Result<fs::path> write_elsewhere(const Record& record) {
    std::error_code error;
    const fs::path base = fs::temp_directory_path(error);
    std::string folder = ((error ? fs::path("/tmp") : base) / "xsp-rescued-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return failed(folder + ": cannot be made");
    const fs::path path = fs::path(folder) / request_.output.filename();
    const Status status = write_new(record, path);
    if (status.ok()) return path;
    fs::remove_all(folder, error);
    return status.error();
  }

  static Status write_new(const Record& record, const fs::path& path) {
    XSP_TRY(store::Database database, store::Database::create(path));
    return write_record(record, database);
  }

  const Request& request_;
  Listener& listener_;
  const std::atomic<int>& stop_;
  const Machine machine_;
  const Environment environment_ = this_environment();
  std::unique_ptr<ScratchFolder> scratch_;
  std::vector<Run> runs_;
  std::vector<std::unique_ptr<Worker>> workers_;  // of the runs that are open
  std::map<std::string, std::string> facts_;
  std::vector<std::string> warnings_;
  std::optional<Error> refused_;  // why the whole experiment makes no sense
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

}  // namespace xsp::evaluate

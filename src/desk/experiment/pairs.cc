#include "desk/experiment/pairs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <set>

#include "desk/experiment/monitor.h"
#include "desk/experiment/record.h"
#include "desk/statistics/steady.h"
#include "desk/store/database.h"
#include "shared/base/levels.h"
#include "shared/base/scratch.h"
#include "xsp/xsp.h"

namespace xsp::experiment {
namespace {

namespace fs = std::filesystem;
using statistics::Estimate;
using std::chrono::steady_clock;

constexpr std::array<const char*, 2> kNames = {"A", "B"};
// The time that a pair measures, if there is enough. Under load, processes differ by the processor
// that each settles on, so many short pairs tell more than a few long ones.
constexpr double kPairSeconds = 2;
// The length of a turn, unless one inference is longer. It is as long as the rest that follows it.
// The load from other programs changes within tenths of a second: in shorter turns, both sides
// share more of it.
constexpr double kTurnSeconds = 0.1;

double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::string random_id() {
  std::random_device device;
  char text[40];
  std::snprintf(text, sizeof text, "%08x%08x%08x%08x", device(), device(), device(), device());
  return text;
}

// Turns the progress of one pair into the progress of all pairs of a batch size.
class PairListener : public Listener {
 public:
  explicit PairListener(Listener& listener) : listener_(listener) {}
  void step(const std::string& text) override { listener_.step(text); }
  void note(const std::string& text) override { listener_.note(text); }
  void warn(const std::string& text) override { listener_.warn(text); }
  void progress(const Progress& of_pair) override {
    Progress progress = of_pair;
    progress.elapsed_s += before_s;
    progress.bound_s = bound_s;
    progress.left_s = std::max(0.0, bound_s - progress.elapsed_s);
    for (RunProgress& run : progress.runs) {
      const Series* series = run.levels == kNames[0] ? done[0] : done[1];
      // The interval is that of the processes that have ended.
      run.iterations += static_cast<int>(series->latencies_ns.size());
      if (series->latency_ns.count > 0) run.latency_ns = series->latency_ns;
    }
    listener_.progress(progress);
  }

  double before_s = 0;
  double bound_s = 0;
  std::array<const Series*, 2> done{};

 private:
  Listener& listener_;
};

class Pairs {
 public:
  Pairs(const PairsRequest& request, Listener& listener, const std::atomic<int>& stop)
      : request_(request),
        listener_(listener),
        stop_(stop),
        monitors_{Monitors(request.sides[0].worker.device, stop),
                  Monitors(request.sides[1].worker.device, stop)},
        random_(request.sides[0].worker.seed) {
    environment_ = this_environment();
    environment_.machine_state = [this, host = environment_.machine_state] {
      machine::MachineState state = host();
      if (one_device()) state.device = monitors_[0].state();
      return state;
    };
    for (size_t side = 0; side < 2; ++side) {
      for (const PlannedRun& planned : request.sides[side].plan.runs) {
        Run run;
        run.planned = planned;
        runs_[side].push_back(std::move(run));
      }
    }
  }

  Result<PairsOutcome> run() {
    // The files are created first, so that a failure to write them shows before any measurement.
    XSP_TRY(store::Database a, store::Database::create(request_.sides[0].output));
    XSP_TRY(store::Database b, store::Database::create(request_.sides[1].output));
    XSP_TRY(scratch_, ScratchFolder::create());
    facts_["experiment.id"] = random_id();
    facts_["experiment.width_pct"] = short_number(100 * limits().width);
    facts_["started_at"] = utc_now();
    start_monitors();
    facts_.merge(facts_of_state(environment_.machine_state(), "before"));
    const size_t batches = runs_[0].size();
    const double share_s = limits().time_s / static_cast<double>(batches);
    for (size_t i = 0; i < batches && !refused_ && !stopped(); ++i) run_batch(i, share_s);
    facts_.merge(facts_of_state(environment_.machine_state(), "after"));
    facts_["ended_at"] = utc_now();
    if (refused_) return *refused_;
    if (const auto why = nothing_measured()) return *why;
    PairsOutcome outcome;
    outcome.interrupted = stopped();
    XSP_CHECK_OK(write(0, std::move(a), &outcome));
    XSP_CHECK_OK(write(1, std::move(b), &outcome));
    return outcome;
  }

 private:
  using Workers = std::array<std::unique_ptr<Worker>, 2>;

  bool stopped() const { return stop_.load(std::memory_order_relaxed) > 0; }
  const Limits& limits() const { return request_.sides[0].limits; }
  bool one_device() const {
    return request_.sides[0].worker.device == request_.sides[1].worker.device;
  }

  std::optional<Error> nothing_measured() const {
    std::optional<Error> why;
    for (size_t side = 0; side < 2; ++side) {
      for (const Run& run : runs_[side]) {
        if (!run.series.latencies_ns.empty()) return std::nullopt;
        const auto& failure = run.series.failure;
        if (!why && failure && failure->code != Code::kInterrupted) {
          why = Error{failure->code, std::string(kNames[side]) + ": " + failure->text};
        }
      }
    }
    if (why) return why;
    return Error{Code::kInterrupted, "interrupted before anything was measured"};
  }

  void start_monitors() {
    for (size_t side = 0; side < (one_device() ? 1 : 2); ++side) {
      const Request& request = request_.sides[side];
      if (request.monitors.empty()) continue;
      listener_.step("asking " + request.worker.device + " what it is");
      monitors_[side].start(request.worker.program, request.monitors);
      for (const std::string& note : monitors_[side].take_notes()) {
        listener_.note(note);
        monitor_notes_[side].push_back(note);
      }
    }
  }

  // Measures all pairs of one batch size.
  void run_batch(size_t i, double time_s) {
    const auto before = machine_.cpu_times(processors_);
    const TimePoint start = steady_clock::now();
    const double own_before_s = own_cpu_s();
    workers_cpu_s_ = 0;
    turn_iterations_ = {};
    PairListener of_pairs(listener_);
    of_pairs.bound_s = time_s;
    of_pairs.done = {&runs_[0][i].series, &runs_[1][i].series};
    const double pair_s = std::min(kPairSeconds, time_s / request_.pairs);
    measured_s_ = 0;
    for (int pair = 0; !refused_ && !stopped() && is_whole(i); ++pair) {
      const Estimate& a = runs_[0][i].series.latency_ns;
      const Estimate& b = runs_[1][i].series.latency_ns;
      const bool has_time = measured_s_ + pair_s <= time_s;
      if (pair >= request_.pairs && (!has_time || is_settled(a, b, limits().width))) break;
      of_pairs.before_s = measured_s_;
      run_pair(i, pair, pair_s, of_pairs);
    }
    for (size_t side = 0; side < 2; ++side) finish_run(side, i);
    const double ours_s = workers_cpu_s_ + own_cpu_s() - own_before_s;
    const auto load =
        load_between(before, machine_.cpu_times(processors_), ours_s, seconds_since(start));
    if (load) {
      for (const std::string& text : doubts_about_load(*load)) warn(text);
      loads_.push_back(*load);
    }
    if (one_device()) {
      for (const std::string& text :
           doubts_about_device({runs_[0][i].series, runs_[1][i].series})) {
        warn(text);
      }
    }
  }

  bool is_whole(size_t i) const {
    return !runs_[0][i].series.failure && !runs_[1][i].series.failure;
  }

  static double own_cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

  void run_pair(size_t i, int pair, double time_s, PairListener& listener) {
    listener_.step("opening pair " + std::to_string(pair + 1) +
                   (pair < request_.pairs ? " of " + std::to_string(request_.pairs) : "") +
                   batch_text(i));
    std::array<size_t, 2> order = {0, 1};
    if (random_() % 2 == 1) std::swap(order[0], order[1]);
    std::array<Series, 2> series;
    if (together_) {
      Workers workers;
      for (const size_t side : order) {
        if (!stopped() && !refused_) workers[side] = open(side, i, pair);
        // There may be too little memory for both processes, but enough for one alone.
        const auto& failure = runs_[side][i].series.failure;
        const bool is_first = workers[order[0]] == nullptr || side == order[0];
        if (!is_first && failure && failure->code == Code::kOutOfMemory) together_ = false;
      }
      if (together_) {
        measure_workers(i, time_s, workers, listener, &series);
      } else {
        warn(
            "the processes of a pair run one after the other, so that drift within a pair does "
            "not cancel: they do not fit into the memory together");
        runs_[order[1]][i].series.failure.reset();
      }
    }
    if (!together_) {
      for (const size_t side : order) {
        Workers workers;
        if (stopped() || refused_) break;
        workers[side] = open(side, i, pair);
        measure_workers(i, time_s / 2, workers, listener, &series);
      }
    }
    keep(i, pair, series);
  }

  std::string batch_text(size_t i) const {
    const auto& batch = runs_[0][i].planned.batch;
    return batch ? ", batch " + std::to_string(*batch) : "";
  }

  fs::path trace_of(size_t side, size_t i, int pair) const {
    return scratch_->path() /
           (kNames[side] + std::to_string(i) + "." + std::to_string(pair) + ".xtrace");
  }

  // Opens the model and runs it once. Returns nothing if that failed; the run then holds the error.
  std::unique_ptr<Worker> open(size_t side, size_t i, int pair) {
    Run& run = runs_[side][i];
    WorkerOptions options = request_.sides[side].worker;
    options.levels = levels_text(run.planned.levels);
    options.batch = run.planned.batch;
    options.collectors = run.planned.collectors;
    options.trace = trace_of(side, i, pair);
    options.scratch = options.trace;
    options.scratch.replace_extension("scratch");
    std::error_code error;
    fs::create_directory(options.scratch, error);
    run.started = true;
    options.take_note = [&](std::string note) { keep_note(side, i, std::move(note)); };
    auto worker = Worker::start(options, request_.sides[side].worker_limits, stop_);
    if (!worker.ok()) {
      // If the model or its input is invalid, other processes would fail as well.
      const Code code = worker.error().code;
      const bool is_no_good =
          code != Code::kFailed && code != Code::kInterrupted && code != Code::kOutOfMemory;
      if (i == 0 && pair == 0 && is_no_good) {
        refused_ = Error{code, std::string(kNames[side]) + ": " + worker.error().text};
      }
      run.series.failure = worker.error();
      return nullptr;
    }
    run.ready = (*worker)->ready();
    const auto block = (*worker)->warm(1, 0);
    if (block.ok()) return std::move(worker).value();
    collect_notes(side, i, **worker);
    run.series.failure = block.error();
    return nullptr;
  }

  void collect_notes(size_t side, size_t i, Worker& worker) {
    for (std::string& note : worker.take_notes()) keep_note(side, i, std::move(note));
  }

  void keep_note(size_t side, size_t i, std::string note) {
    std::vector<std::string>& notes = runs_[side][i].notes;
    if (std::find(notes.begin(), notes.end(), note) != notes.end()) return;
    listener_.note(std::string(kNames[side]) + ": " + note);
    notes.push_back(std::move(note));
  }

  // Measures the open workers in turns, and ends them.
  void measure_workers(size_t i, double time_s, Workers& workers, PairListener& listener,
                       std::array<Series, 2>* found) {
    std::vector<Subject*> subjects;
    std::vector<SubjectInfo> infos;
    std::vector<size_t> sides;
    for (size_t side = 0; side < 2; ++side) {
      if (workers[side] == nullptr) continue;
      const Run& run = runs_[side][i];
      subjects.push_back(workers[side].get());
      // Every pair has turns of one length: a process that is slow by chance counts as much as
      // another.
      infos.push_back(
          {kNames[side], run.planned.batch, 1, run.ready->iterations_max, turn_iterations_[side]});
      sides.push_back(side);
    }
    if (subjects.empty()) return;
    Limits limits = this->limits();
    limits.time_s = time_s;
    limits.width = 0;  // every process does the same work
    limits.block_s = kTurnSeconds;
    limits.equal_blocks = true;
    // Reading the machine's state after every turn would disturb the next one.
    Environment environment = environment_;
    environment.machine_state = [] { return machine::MachineState(); };
    const TimePoint start = steady_clock::now();
    std::vector<Series> series =
        measure(subjects, infos, limits, random_(), environment, listener, stop_);
    measured_s_ += seconds_since(start);
    const machine::MachineState state = environment_.machine_state();
    for (size_t k = 0; k < sides.size(); ++k) {
      const size_t side = sides[k];
      workers_cpu_s_ += workers[side]->process().cpu_seconds();
      Series& one = series[k];
      const Status status = one.failure ? Status(*one.failure) : workers[side]->finish();
      if (!status.ok()) one.failure = status.error();
      collect_notes(side, i, *workers[side]);
      workers[side].reset();
      if (!one.blocks.empty()) one.blocks.back().machine = state;
      (*found)[side] = std::move(one);
    }
    if (turn_iterations_ == std::array<int, 2>{}) choose_turns(*found);
  }

  // Chooses the length of all further turns by the first pair, which ran in turns chosen by the few
  // iterations of its warm-up.
  void choose_turns(const std::array<Series, 2>& first) {
    std::vector<BlockLength> lengths;
    for (const Series& series : first) {
      if (series.latencies_ns.empty()) return;
      lengths.push_back(
          {std::ranges::min(series.latencies_ns), statistics::median(series.latencies_ns)});
    }
    const auto turns = equal_blocks(lengths, kTurnSeconds, limits().block_iterations_max);
    turn_iterations_ = {turns[0], turns[1]};
  }

  // Keeps the measurements of a pair if both sides have them, or if the other side failed.
  void keep(size_t i, int pair, const std::array<Series, 2>& series) {
    for (size_t side = 0; side < 2; ++side) {
      auto& failure = runs_[side][i].series.failure;
      if (!failure) failure = series[side].failure;
    }
    for (size_t side = 0; side < 2; ++side) {
      Run& run = runs_[side][i];
      const Series& other = series[1 - side];
      const bool is_counted = !other.latencies_ns.empty() || runs_[1 - side][i].series.failure;
      if (run.series.failure || series[side].latencies_ns.empty() || !is_counted) continue;
      add_process(series[side], pair, &run.series);
      run.processes.push_back({trace_of(side, i, pair), series[side].warmup_iterations,
                               static_cast<int>(series[side].latencies_ns.size())});
      unsettled_[side] += series[side].warmup_settled ? 0 : 1;
    }
  }

  void finish_run(size_t side, size_t i) {
    Run& run = runs_[side][i];
    Series& series = run.series;
    for (MeasuredBlock& block : series.blocks) block.first_iteration += series.warmup_iterations;
    const size_t processes = run.processes.size();
    if (2 * unsettled_[side] > processes && !stopped()) {
      warn("the latency of " + std::string(kNames[side]) + " had not settled in " +
           std::to_string(unsettled_[side]) + " of " + std::to_string(processes) +
           " processes when the time for warm-up was over: allow more with --max-time");
    }
    unsettled_[side] = 0;
    if (series.failure) {
      const bool interrupted = series.failure->code == Code::kInterrupted;
      series.stopped_by = interrupted ? "interrupt" : "failure";
      if (!interrupted && !refused_) {
        warn("not measured: " + std::string(kNames[side]) + ", " + name_of(run.planned) + ": " +
             series.failure->text);
      }
    } else if (static_cast<int>(series.blocks.size()) < request_.pairs && stopped()) {
      series.stopped_by = "interrupt";
    } else {
      series.stopped_by = is_settled(series, limits()) ? "interval" : "time";
    }
  }

  void warn(const std::string& text) {
    listener_.warn(text);
    if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) {
      warnings_.push_back(text);
    }
  }

  Status write(size_t side, store::Database database, PairsOutcome* outcome) {
    const Request& request = request_.sides[side];
    std::map<std::string, std::string> facts = request.facts;
    facts.insert(facts_.begin(), facts_.end());
    for (const auto& [key, value] : machine_.facts()) facts["machine." + key] = value;
    facts.merge(facts_about_load(loads_));
    facts.merge(facts_of(request, runs_[side]));
    // The width is a limit on the ratio, not on either side's own interval.
    facts.erase("limits.width_pct");
    const size_t monitor = one_device() ? 0 : side;
    for (const auto& [key, value] : monitors_[monitor].facts()) facts[key] = value;
    int number = 0;
    for (const std::string& note : notes_of(monitor_notes_[monitor], runs_[side])) {
      facts["note." + std::to_string(++number)] = note;
    }
    number = 0;
    for (const std::string& text : warnings_) facts["warning." + std::to_string(++number)] = text;
    const Record record{&request, &runs_[side], std::move(facts), {}, {}};
    Outcome& of_side = outcome->sides[side];
    of_side.interrupted = outcome->interrupted;
    XSP_CHECK_OK(write_outcome(record, std::move(database), &of_side));
    of_side.runs = std::move(runs_[side]);
    return Ok{};
  }

  const PairsRequest& request_;
  Listener& listener_;
  const std::atomic<int>& stop_;
  const machine::Machine machine_;
  const std::set<int> processors_ = machine::usable_processor_numbers();
  std::vector<Load> loads_;           // one for each batch size
  std::array<Monitors, 2> monitors_;  // of one device: only the first is used
  std::array<std::vector<std::string>, 2> monitor_notes_;
  std::mt19937_64 random_;
  Environment environment_;
  std::unique_ptr<ScratchFolder> scratch_;
  std::array<std::vector<Run>, 2> runs_;
  std::array<size_t, 2> unsettled_{};     // processes of a batch size whose warm-up did not settle
  std::array<int, 2> turn_iterations_{};  // inferences of a turn at this batch size; 0: not known
                                          // yet
  bool together_ = true;
  double workers_cpu_s_ = 0;  // processor time for this batch size
  double measured_s_ = 0;     // the part of the batch size's time that is spent
  std::map<std::string, std::string> facts_;
  std::vector<std::string> warnings_;
  std::optional<Error> refused_;  // why the whole experiment cannot succeed
};

}  // namespace

Plan plan_of_pairs(const Plan& plan) {
  Plan pairs;
  for (const PlannedRun& run : plan.runs) {
    if (run.levels != XSP_LEVEL_BIT(XSP_LEVEL_MODEL) || !run.counters.empty()) continue;
    pairs.runs.push_back(run);
    pairs.runs.back().run_id = static_cast<int>(pairs.runs.size());
  }
  return pairs;
}

bool is_settled(const Estimate& a, const Estimate& b, double width) {
  const auto ratio = statistics::paired_ratio(a, b);
  if (!ratio || !ratio->interval || width <= 0) return false;
  return std::log(ratio->interval->high / ratio->interval->low) / 2 <= width;
}

void add_process(const Series& of_process, int round, Series* run) {
  const std::vector<double>& latencies = of_process.latencies_ns;
  const MeasuredBlock& first = of_process.blocks.front();
  const MeasuredBlock& last = of_process.blocks.back();
  MeasuredBlock block;
  block.round = round;
  block.first_iteration = static_cast<int>(run->latencies_ns.size());
  block.iterations = static_cast<int>(latencies.size());
  block.start_ns = first.start_ns;
  block.duration_ns = last.start_ns + last.duration_ns - first.start_ns;
  block.median_ns = statistics::median(latencies);
  block.machine = last.machine;
  run->blocks.push_back(block);
  run->warmup_iterations += of_process.warmup_iterations;
  run->warmup_settled = of_process.warmup_settled && (round == 0 || run->warmup_settled);
  run->latencies_ns.insert(run->latencies_ns.end(), latencies.begin(), latencies.end());
  run->latency_ns = latency_of(*run);
}

Result<PairsOutcome> run_pairs(const PairsRequest& request, Listener& listener,
                               const std::atomic<int>& stop) {
  Pairs pairs(request, listener, stop);
  return pairs.run();
}

}  // namespace xsp::experiment

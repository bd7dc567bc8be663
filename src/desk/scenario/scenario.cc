#include "desk/scenario/scenario.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <set>

#include "desk/machine/machine.h"
#include "desk/scenario/figures.h"
#include "desk/scenario/loadgen_log.h"
#include "desk/scenario/max_rate.h"
#include "desk/scenario/session.h"
#include "desk/store/database.h"
#include "shared/base/duration_text.h"
#include "shared/base/scratch.h"

namespace xsp::scenario {
namespace {

using experiment::ResultRow;

std::string rate_text(double rate) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g requests/s", rate);
  return text;
}

// Returns the tokens per second of a generation, which its figures have.
std::string tokens_text(const std::vector<ResultRow>& token_rows) {
  for (const ResultRow& row : token_rows) {
    if (row.metric != "tokens_per_s") continue;
    char text[40];
    std::snprintf(text, sizeof text, "%.4g tokens/s", *row.value);
    return text;
  }
  return "no tokens";
}

std::string bound_text(const Bound& bound, double latency_ns) {
  char percent[24];
  std::snprintf(percent, sizeof percent, "p%g", 100 * bound.share);
  return std::string(percent) + " is " + duration_text(latency_ns) + ", " +
         given_duration_text(bound.ns) + " is allowed";
}

// Says how far an interrupted search has come.
std::string incomplete_text(const MaxRate& found) {
  std::string text = "incomplete: interrupted after " + std::to_string(found.probes.size()) +
                     " loads and " + std::to_string(found.searches) + " of 6 searches";
  if (found.searches > 0) return text;
  double missed = 0;
  for (const Probe& probe : found.probes) {
    if (!probe.is_within && (missed == 0 || probe.rate < missed)) missed = probe.rate;
  }
  text += found.rate > 0 ? "; this rate keeps the bound" : "; no rate has kept the bound";
  return missed > 0 ? text + ", and " + rate_text(missed) + " misses it" : text;
}

class Evaluation {
 public:
  Evaluation(const Scenario& scenario, const experiment::Request& request,
             experiment::Listener& listener, const std::atomic<int>& stop, const Look& look)
      : scenario_(scenario), request_(request), listener_(listener), stop_(stop), look_(look) {
    // A worker notes which inputs it makes up; files and generations bring their own.
    const bool makes_inputs = scenario.items.empty() && scenario.name != "generation";
    if (!makes_inputs) return;
    // Every run opens the model, and notes the same each time.
    request_.worker.take_note = [this](const std::string& note) {
      if (told_.insert(note).second) listener_.note(note);
    };
  }

  Result<Outcome> run() {
    XSP_TRY(store::Database database, store::Database::create(request_.output));
    XSP_TRY(scratch_, ScratchFolder::create());
    request_.facts["started_at"] = experiment::utc_now();
    if (scenario_.name == "max-rate") XSP_CHECK_OK(search());
    if (!scenario_.fewer_clients.empty()) XSP_CHECK_OK(measure_fewer_clients());
    if (!outcome_.experiment.interrupted) XSP_CHECK_OK(measure_figures());
    XSP_CHECK_OK(write(std::move(database)));
    return std::move(outcome_);
  }

 private:
  // Measures what is quoted. What a search or smaller loads have found stays if the user interrupts
  // here.
  Status measure_figures() {
    const auto measured = measure(figures_run(), true);
    if (!measured.ok() && measured.error().code == Code::kInterrupted && has_results()) {
      outcome_.experiment.interrupted = true;
      return Ok{};
    }
    XSP_TRY(const Load load, measured);
    // A replay has as many requests as its file, if it is not cut short.
    if (scenario_.name == "replay") {
      requests_ = static_cast<int64_t>(load.answers.size()) + load.abandoned;
    }
    for (ResultRow& row : rows_of(load, scenario_.instances))
      outcome_.results.push_back(std::move(row));
    add_tokens(load);
    if (look_) {
      XSP_TRY(const std::vector<ResultRow> rows, look_(load));
      outcome_.results.insert(outcome_.results.end(), rows.begin(), rows.end());
    }
    // A bound cannot be judged by a part of the requests.
    if (load.is_interrupted) {
      outcome_.experiment.interrupted = true;
      outcome_.incomplete = how_far(load);
      return Ok{};
    }
    judge(load);
    if (!load.loadgen.empty()) XSP_CHECK_OK(ask_loadgen(load));
    if (scenario_.explains) explain();
    return Ok{};
  }
  // Says how far an interrupted load has come.
  std::string how_far(const Load& load) const {
    const std::string all = scenario_.name == "replay" ? "" : " of " + std::to_string(requests_);
    return "interrupted after " + std::to_string(load.answers.size()) + all + " requests";
  }
  bool has_results() const { return !outcome_.results.empty(); }
  const experiment::PlannedRun& figures_run() const { return request_.plan.runs.front(); }

  // Carries out the deeper runs. Without them the answer stands all the same.
  void explain() {
    for (size_t i = 1; i < request_.plan.runs.size(); ++i) {
      const experiment::PlannedRun& planned = request_.plan.runs[i];
      const Result<Load> deeper = measure(planned, false);
      if (deeper.ok() && deeper->is_interrupted) {
        return listener_.warn(experiment::name_of(planned) + ": " + how_far(*deeper));
      }
      if (deeper.ok()) continue;
      listener_.warn("not measured: " + experiment::name_of(planned) + ": " + deeper.error().text);
      if (deeper.error().code == Code::kInterrupted) return;
    }
  }

  Result<Load> measure(const experiment::PlannedRun& planned, bool counts_load) {
    XSP_TRY(const auto session, Session::open(request_, planned, scratch_->path(),
                                              std::to_string(planned.run_id), listener_, stop_));
    const auto processors = machine::usable_processor_numbers();
    const auto before = machine_.cpu_times(processors);
    const double ours_before = session->cpu_seconds() + own_seconds();
    const auto begin = std::chrono::steady_clock::now();
    XSP_TRY(Load load, session->load(scenario_, true));
    for (const Answer& answer : load.answers) batch_sizes_.insert(answer.batch_size);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto others =
        experiment::load_between(before, machine_.cpu_times(processors),
                                 session->cpu_seconds() + own_seconds() - ours_before, seconds);
    if (others && counts_load) {
      for (const std::string& text : experiment::doubts_about_load(*others)) listener_.warn(text);
      request_.facts.merge(experiment::facts_about_load({*others}));
    }
    XSP_TRY(experiment::Run run, session->finish());
    outcome_.experiment.runs.push_back(std::move(run));
    return load;
  }

  // Gives the runs the size of their batches, if it was the same for all of them. A generation's
  // later steps have fewer inputs than the batch, whose answers have several lengths.
  void name_batch() {
    if (scenario_.max_batch == 1 || batch_sizes_.empty()) return;
    const bool is_one = batch_sizes_.size() == 1 && scenario_.name != "generation";
    for (experiment::Run& run : outcome_.experiment.runs) {
      if (!run.ready->batch) continue;  // the adapter says why
      run.ready->batch = static_cast<int>(*batch_sizes_.begin());
      if (is_one) continue;
      run.ready->batch.reset();
      run.ready->batch_unknown =
          scenario_.name == "generation"
              ? "a step has from 1 to " + std::to_string(scenario_.max_batch) + " inputs"
              : "the batches that were formed have from " + std::to_string(*batch_sizes_.begin()) +
                    " to " + std::to_string(*batch_sizes_.rbegin()) + " inputs";
    }
  }

  // Measures the points of the curve over clients, but for the last one. Whole points stay if the
  // user interrupts.
  Status measure_fewer_clients() {
    XSP_TRY(const auto session,
            Session::open(request_, figures_run(), scratch_->path(), "curve", listener_, stop_));
    Scenario probe = scenario_;
    size_t points = 0;
    const auto interrupted = [&] {
      outcome_.experiment.interrupted = true;
      outcome_.incomplete = "interrupted after " + std::to_string(points) + " of " +
                            std::to_string(scenario_.fewer_clients.size() + 1) +
                            " numbers of clients";
      return Ok{};
    };
    for (const int64_t clients : scenario_.fewer_clients) {
      probe.clients = probe.max_batch = clients;
      const auto load = session->load(probe, false);
      if (!load.ok() && load.error().code != Code::kInterrupted) return load.error();
      if (!load.ok() || load->is_interrupted) {
        if (points > 0) return interrupted();
        return load.ok() ? Error{Code::kInterrupted, how_far(*load)} : load.error();
      }
      const std::vector<ResultRow> rows = token_rows_of(*load);
      add_point(clients, rows);
      ++points;
      listener_.note(clients_text(clients) + ": " + tokens_text(rows));
      // A short load ends within the grace that an interrupt leaves.
      if (stop_.load() > 0) return interrupted();
    }
    XSP_CHECK_OK(session->finish());
    return Ok{};
  }

  // Adds what a number of clients gives to the curve.
  void add_point(int64_t clients, const std::vector<ResultRow>& rows) {
    for (ResultRow& row : point_of(clients, rows)) outcome_.results.push_back(std::move(row));
  }

  static double own_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

  static double answered_per_s(const Load& load) {
    return static_cast<double>(load.answers.size()) / load.seconds;
  }

  // Finds the highest rate, which the scenario then has.
  Status search() {
    XSP_TRY(const auto session,
            Session::open(request_, figures_run(), scratch_->path(), "search", listener_, stop_));
    Scenario probe = scenario_;
    probe.name = "offline";
    XSP_TRY(const Load offline, session->load(probe, false));
    if (offline.is_interrupted) return Error{Code::kInterrupted, how_far(offline)};
    const double capacity = answered_per_s(offline);
    double highest_per_s = capacity;  // that any load was answered at
    probe.name = "server";
    const auto try_rate = [&](double rate, uint64_t seed) -> Result<Probe> {
      probe.rate = rate;
      probe.seed = seed;
      // A short load ends within the grace that an interrupt leaves.
      if (stop_.load() > 0) return Error{Code::kInterrupted, "interrupted"};
      XSP_TRY(const Load load, session->load(probe, false));
      if (load.is_interrupted) return Error{Code::kInterrupted, how_far(load)};
      highest_per_s = std::max(highest_per_s, answered_per_s(load));
      const double latency_ns = latency_of(load, *scenario_.bound);
      const bool is_kept = is_within(load, *scenario_.bound);
      listener_.note(rate_text(rate) + ": " + bound_text(*scenario_.bound, latency_ns) +
                     (is_kept ? ": met" : ": missed"));
      return Probe{rate, is_kept, latency_ns};
    };
    XSP_TRY(const MaxRate found, find_max_rate(capacity, scenario_.seed, try_rate));
    outcome_.experiment.interrupted = found.interrupted.has_value();
    if (found.interrupted && found.probes.empty()) return *found.interrupted;
    if (!found.interrupted) XSP_CHECK_OK(session->finish());
    ResultRow row = row_of("max_rate", {found.rate, found.interval}, "per_s");
    row.run_id.reset();
    row.note = "mean of five searches, each to 1 %";
    if (found.interrupted) row.note = incomplete_text(found);
    if (found.rate == 0) row.value.reset();
    // A higher rate kept the bound only because its loads ended before their queue had grown.
    is_sustained_ = !found.interval || found.interval->low <= highest_per_s;
    if (!is_sustained_) {
      row.value.reset();
      row.low.reset();
      row.high.reset();
      row.note = "the model answers at most " + rate_text(highest_per_s) + ", and loads of " +
                 std::to_string(scenario_.requests) +
                 " requests end before their queue has grown: give more --requests";
    }
    outcome_.results.push_back(row);
    for (const Probe& one : found.probes) {
      ResultRow point{"latency_at_rate", one.latency_ns, {}, {}, "ns", {}, ""};
      point.note = rate_text(one.rate);
      outcome_.results.push_back(point);
    }
    scenario_.rate = found.rate;
    return Ok{};
  }

  void judge(const Load& load) {
    if (!scenario_.bound) return;
    const double latency_ns = latency_of(load, *scenario_.bound);
    const bool is_searched = scenario_.name == "max-rate";
    outcome_.is_met = is_searched || is_within(load, *scenario_.bound);
    outcome_.verdict = bound_text(*scenario_.bound, latency_ns);
    if (load.abandoned > 0) {
      outcome_.verdict += ", and " + std::to_string(load.abandoned) + " requests were not answered";
    }
    if (!is_searched) {
      outcome_.verdict = (outcome_.is_met ? "met: " : "missed: ") + outcome_.verdict;
    } else if (is_sustained_) {
      outcome_.verdict = "a load at the highest rate: " + outcome_.verdict +
                         "; of such loads, about half keep the bound";
    } else {
      outcome_.verdict = "a load at " + rate_text(scenario_.rate) + ": " + outcome_.verdict +
                         "; the highest rate is not known: give more --requests";
    }
  }

  void add_tokens(const Load& load) {
    if (load.generated.empty()) return;
    const std::vector<ResultRow> rows = token_rows_of(load);
    if (!scenario_.fewer_clients.empty()) add_point(scenario_.clients, rows);
    outcome_.results.insert(outcome_.results.end(), rows.begin(), rows.end());
  }

  // Adds what LoadGen says. Its multiple streams have the latencies of whole queries.
  Status ask_loadgen(const Load& load) {
    logs_ = load.loadgen;
    XSP_TRY(const LoadgenSummary summary, read_loadgen_summary(load.loadgen));
    outcome_.loadgen = verdict_of(summary);
    for (const auto& [name, ns] : summary.latencies) {
      outcome_.results.push_back(row_of("loadgen.latency." + name, {ns, {}}, "ns"));
    }
    return Ok{};
  }

  void keep_logs() {
    const auto kept = keep_loadgen_logs(logs_, outcome_.experiment.file);
    if (!kept.ok()) return listener_.warn(kept.error().text);
    listener_.note("LoadGen's logs are in " + kept->string());
  }

  // Adds what two loads must have in common, so that their figures can be compared. The bound of a
  // verdict changes no figure, and the rate that a search has found is one.
  void add_load_facts(std::map<std::string, std::string>* facts) const {
    const std::string& name = scenario_.name;
    if (name == "closed" || name == "multi" || name == "generation") {
      (*facts)["scenario.clients"] = std::to_string(scenario_.clients);
    }
    if (name == "server") (*facts)["scenario.rate_per_s"] = std::to_string(scenario_.rate);
    const bool is_bound_used =
        name == "max-rate" || (name == "server" && scenario_.generator == kLoadgen);
    if (scenario_.bound && is_bound_used) {
      (*facts)["scenario.bound"] = "p" + experiment::short_number(100 * scenario_.bound->share) +
                                   "=" + experiment::short_number(scenario_.bound->ns / 1e6) + "ms";
    }
    if (name == "generation" && scenario_.lengths.empty()) {
      (*facts)["scenario.prompt_tokens"] = scenario_.prompt_tokens;
      (*facts)["scenario.output_tokens"] = scenario_.output_tokens;
    }
  }

  Status write(store::Database database) {
    if (scenario_.keeps_file) listener_.step("writing " + request_.output.string());
    request_.facts["ended_at"] = experiment::utc_now();
    name_batch();
    experiment::Record record{&request_, &outcome_.experiment.runs, request_.facts, {}, {}};
    record.facts.merge(experiment::facts_of(request_, outcome_.experiment.runs));
    for (const auto& [key, value] : machine_.facts()) record.facts["machine." + key] = value;
    int number = 0;
    for (const std::string& note : experiment::notes_of({}, outcome_.experiment.runs)) {
      record.facts["note." + std::to_string(++number)] = note;
    }
    record.facts["scenario"] = scenario_.name;
    record.facts["scenario.generator"] = scenario_.generator;
    if (!outcome_.loadgen.empty()) record.facts["scenario.loadgen"] = outcome_.loadgen;
    record.facts["scenario.requests"] = std::to_string(requests_);
    record.facts["scenario.instances"] = std::to_string(scenario_.instances);
    record.facts["scenario.max_batch"] = std::to_string(scenario_.max_batch);
    record.facts["scenario.max_wait_ns"] = std::to_string(scenario_.max_wait_ns);
    add_load_facts(&record.facts);
    if (!scenario_.items.empty()) {
      record.facts["scenario.items"] = std::to_string(scenario_.items.size());
    }
    if (!outcome_.verdict.empty()) record.facts["scenario.verdict"] = outcome_.verdict;
    if (!outcome_.incomplete.empty()) {
      record.facts["scenario.incomplete"] = outcome_.incomplete;
      record.facts["warning.1"] =
          outcome_.incomplete + ": the figures are those of the requests that were answered";
    }
    record.results = outcome_.results;
    XSP_CHECK_OK(experiment::write_outcome(record, std::move(database), &outcome_.experiment));
    if (!logs_.empty() && scenario_.keeps_file) keep_logs();
    return Ok{};
  }

  Scenario scenario_;
  experiment::Request request_;
  experiment::Listener& listener_;
  const std::atomic<int>& stop_;
  const Look& look_;
  const machine::Machine machine_;
  std::set<int64_t> batch_sizes_;  // of the runs
  std::set<std::string> told_;     // notes
  int64_t requests_ = scenario_.requests;
  std::unique_ptr<ScratchFolder> scratch_;
  std::filesystem::path logs_;  // LoadGen's, of the load that gives the figures
  Outcome outcome_;
  bool is_sustained_ =
      true;  // the rate that a search found is no higher than any that was answered
};

}  // namespace

bool is_within(const Load& load, const Bound& bound) {
  return load.abandoned == 0 && latency_of(load, bound) <= bound.ns;
}

Result<Outcome> run_scenario(const Scenario& scenario, const experiment::Request& request,
                             experiment::Listener& listener, const std::atomic<int>& stop,
                             const Look& look) {
  XSP_CHECK_OK(check(scenario));
  return Evaluation(scenario, request, listener, stop, look).run();
}

}  // namespace xsp::scenario

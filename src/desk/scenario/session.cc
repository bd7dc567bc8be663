#include "desk/scenario/session.h"

#include <cmath>
#include <cstdio>
#include <fstream>

#include "process/worker/protocol.h"
#include "shared/base/duration_text.h"
#include "shared/base/levels.h"

namespace xsp::scenario {
namespace {

namespace fs = std::filesystem;

std::string number_text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

// Returns the settings of LoadGen.
Settings loadgen_of(const Scenario& scenario, const fs::path& logs) {
  Settings settings = {{"generator", kLoadgen},
                       {"loadgen.scenario", scenario.name},
                       {"loadgen.logs", logs},
                       {"loadgen.accuracy", scenario.is_accuracy ? "1" : "0"}};
  if (!scenario.items.empty()) {
    settings.emplace_back("loadgen.samples", std::to_string(scenario.items.size()));
  }
  if (scenario.name == "multi") settings.emplace_back("group", std::to_string(scenario.clients));
  if (scenario.name == "server") {
    settings.insert(settings.end(),
                    {{"rate", number_text(scenario.rate)},
                     {"loadgen.latency_ns", std::to_string(std::llround(scenario.bound->ns))},
                     {"loadgen.latency_share", number_text(scenario.bound->share)}});
  }
  return settings;
}

// Returns the settings of the worker's own generator.
Settings generator_of(const Scenario& scenario) {
  if (scenario.name == "server" || scenario.name == "max-rate") {
    return {{"generator", "server"}, {"rate", number_text(scenario.rate)}};
  }
  if (scenario.name == "offline") return {{"generator", "offline"}};
  if (scenario.name == "replay") {
    return {{"generator", "replay"}, {"arrivals", scenario.arrivals}};
  }
  if (scenario.name == "closed" || scenario.name == "generation") {
    return {{"generator", "closed"}, {"clients", std::to_string(scenario.clients)}};
  }
  if (scenario.name == "multi") {
    return {{"generator", "closed"}, {"group", std::to_string(scenario.clients)}};
  }
  return {{"generator", "closed"}};
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const experiment::Request& request,
                                               const experiment::PlannedRun& planned,
                                               const fs::path& folder, const std::string& name,
                                               experiment::Listener& listener,
                                               const std::atomic<int>& stop) {
  listener.step("opening the model (" + experiment::name_of(planned) + ")");
  std::unique_ptr<Session> session(new Session(folder, name, listener));
  experiment::WorkerOptions options = request.worker;
  options.levels = levels_text(planned.levels);
  options.collectors = planned.collectors;
  options.trace = folder / (name + ".xtrace");
  options.scratch = folder / name;
  std::error_code error;
  fs::create_directory(options.scratch, error);
  session->run_.planned = planned;
  session->run_.started = true;
  session->run_.trace = options.trace;
  options.take_note = [&request, &session](std::string note) {
    if (request.worker.take_note) request.worker.take_note(note);
    session->run_.notes.push_back(std::move(note));
  };
  XSP_TRY(session->worker_, experiment::Worker::start(options, request.worker_limits, stop));
  session->run_.ready = session->worker_->ready();
  return session;
}

Status Session::write_settings(const Scenario& scenario, bool records_requests,
                               const fs::path& path, const fs::path& answers) const {
  Settings settings;
  if (scenario.generator == kLoadgen) {
    std::error_code error;
    fs::create_directory(logs_path(), error);
    settings = loadgen_of(scenario, logs_path());
  } else {
    settings = generator_of(scenario);
  }
  if (!scenario.items.empty()) {
    const std::string items = path.string() + ".items";
    std::ofstream list(items);
    for (const std::string& item : scenario.items) list << process::join_fields({item}) << '\n';
    list.close();
    if (!list) return failed(items + ": cannot be written: make room for it");
    settings.insert(settings.end(), {{"items", items}, {"outputs", outputs_path()}});
  }
  if (scenario.name == "generation") {
    const std::string lengths = path.string() + ".lengths";
    std::ofstream list(lengths);
    XSP_TRY(const std::vector<TokenCounts> counts, token_counts_of(scenario));
    for (const TokenCounts& one : counts) list << one.prompt << '\t' << one.output << '\n';
    list.close();
    if (!list) return failed(lengths + ": cannot be written: make room for it");
    settings.insert(settings.end(), {{"lengths", lengths}, {"tokens", tokens_path()}});
  }
  settings.insert(settings.end(), {{"requests", std::to_string(scenario.requests)},
                                   {"time_ns", std::to_string(std::llround(scenario.time_s * 1e9))},
                                   {"instances", std::to_string(scenario.instances)},
                                   {"max_batch", std::to_string(scenario.max_batch)},
                                   {"max_wait_ns", std::to_string(scenario.max_wait_ns)},
                                   {"seed", std::to_string(scenario.seed)},
                                   {"spans", records_requests ? "1" : "0"},
                                   {"answers", answers}});
  std::ofstream file(path);
  for (const auto& [key, value] : settings) file << process::join_fields({key, value}) << '\n';
  file.close();
  if (file) return Ok{};
  return failed(path.string() + ": cannot be written: make room for it");
}

Result<Load> Session::load(const Scenario& scenario, bool records_requests) {
  const fs::path path = folder_ / (name_ + ".load"), file = folder_ / (name_ + ".answers");
  XSP_CHECK_OK(write_settings(scenario, records_requests, path, file));
  const auto on_load = [&](int64_t answered, int64_t elapsed_ns, int64_t latency_ns) {
    // A replay has as many as its file.
    const std::string all =
        scenario.name == "replay" ? "" : " of " + std::to_string(scenario.requests);
    char seconds[40];
    std::snprintf(seconds, sizeof seconds, "%.1f s", static_cast<double>(elapsed_ns) / 1e9);
    listener_.step(std::to_string(answered) + all + " requests answered in " + seconds +
                   ", the last in " + duration_text(static_cast<double>(latency_ns)));
  };
  if (!is_warm_) listener_.step("warming up");  // which takes long where models compile
  is_warm_ = true;
  XSP_TRY(const experiment::Loaded loaded, worker_->load(path, scenario.time_s, on_load));
  for (std::string& note : worker_->take_notes()) run_.notes.push_back(std::move(note));
  Load load;
  load.rate = scenario.rate;
  load.abandoned = loaded.abandoned;
  load.seconds = static_cast<double>(loaded.end_ns - loaded.start_ns) / 1e9;
  XSP_TRY(load.answers, read_answers(file));
  if (static_cast<int64_t>(load.answers.size()) != loaded.answered) {
    return failed("worker: its file of answers is incomplete: make room for it");
  }
  load.is_interrupted = loaded.is_interrupted;
  if (load.answers.empty() && load.is_interrupted) {
    return Error{Code::kInterrupted, "interrupted before a request was answered"};
  }
  if (load.answers.empty()) {
    return failed("no request was answered within the time: allow more with --max-time");
  }
  if (!scenario.items.empty()) load.outputs = outputs_path();
  if (scenario.generator == kLoadgen) load.loadgen = logs_path();
  if (scenario.name == "generation") {
    XSP_TRY(load.generated, read_tokens(tokens_path()));
    if (load.generated.size() != load.answers.size()) {
      return failed("worker: its file of tokens is incomplete: make room for it");
    }
  }
  const int all = loaded.first_iteration + loaded.model_runs, most = run_.ready->iterations_max;
  if (most > 0 && all > most) {
    listener_.warn(levels_text(run_.planned.levels) + ": the model ran " + std::to_string(all) +
                   " times, and the layers of " + std::to_string(most) +
                   " can be recorded: later ones may be lost: give fewer --requests");
  }
  run_.series.warmup_iterations = loaded.first_iteration;
  run_.series.latencies_ns.assign(static_cast<size_t>(loaded.model_runs), 0);
  run_.series.stopped_by = loaded.is_interrupted  ? "interrupt"
                           : loaded.abandoned > 0 ? "time"
                                                  : "iterations";
  return load;
}

Result<experiment::Run> Session::finish() {
  listener_.step("collecting the trace (" + levels_text(run_.planned.levels) + ")");
  XSP_CHECK_OK(worker_->finish());
  return std::move(run_);
}

}  // namespace xsp::scenario

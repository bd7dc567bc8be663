// xsp evaluate: lets a model answer requests as they would come in practice.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "desk/cli/items.h"
#include "desk/cli/output.h"
#include "desk/cli/progress.h"
#include "desk/cli/replaced.h"
#include "desk/cli/request.h"
#include "desk/cli/terminal.h"
#include "desk/cli/verbs.h"
#include "desk/experiment/frameworks.h"
#include "desk/experiment/interrupt.h"
#include "desk/manifest/sha256.h"
#include "desk/predict/accuracy.h"
#include "desk/scenario/scenario.h"
#include "shared/base/duration_text.h"
#include "shared/base/words.h"

namespace xsp::cli {
namespace {

struct EvaluateOptions : RequestOptions {
  scenario::Scenario scenario;
  std::string bound;
  std::string max_wait;
  std::vector<int64_t> clients = {1};
  bool accuracy = false;
  std::string data;
  bool quiet = false;
  OutputOptions format;
};

Result<scenario::Scenario> scenario_of(const EvaluateOptions& options) {
  scenario::Scenario scenario = options.scenario;
  scenario.seed = options.seed;
  if (options.max_time_s > 0) scenario.time_s = options.max_time_s;
  if (!options.bound.empty()) {
    XSP_TRY(scenario.bound, scenario::parse_bound(options.bound));
  }
  if (!options.max_wait.empty()) {
    XSP_TRY(scenario.max_wait_ns, scenario::parse_duration("--max-wait", options.max_wait));
  }
  scenario.fewer_clients = options.clients;
  std::sort(scenario.fewer_clients.begin(), scenario.fewer_clients.end());
  scenario.clients = scenario.fewer_clients.back();
  scenario.fewer_clients.pop_back();
  if (scenario.name == "multi" && scenario.clients == 1) scenario.clients = 8;
  // A generation's clients are answered together.
  if (scenario.name == "generation") {
    scenario.max_batch = std::max(scenario.max_batch, scenario.clients);
  }
  if (options.accuracy) return scenario;
  XSP_CHECK_OK(scenario::check(scenario));
  return scenario;
}

const experiment::ResultRow* find(const scenario::Outcome& outcome, const std::string& metric) {
  for (const experiment::ResultRow& row : outcome.results) {
    if (row.metric == metric) return &row;
  }
  return nullptr;
}

std::string number_text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, number < 100 ? "%.3g" : "%.0f", number);
  return text;
}

std::string interval_text(const experiment::ResultRow& row, bool is_time) {
  const auto text = [is_time](double n) { return is_time ? duration_text(n) : number_text(n); };
  std::string result = text(*row.value);
  if (row.low && row.high) result += " (" + text(*row.low) + " to " + text(*row.high) + ")";
  return result;
}

constexpr double kRateMax = 1e9;  // more requests would come in a nanosecond

constexpr const char* kParts[] = {"queue", "batcher", "pipeline", "model", "output"};

// Returns "3.01 ms = queue 2.23 ms + batcher 107 us + ...", by the rows `whole` and of `part`. A
// model without steps for its output has no such part.
std::string sum_text(const scenario::Outcome& outcome, const std::string& whole,
                     const std::function<std::string(const std::string&)>& part) {
  std::string text = duration_text(*find(outcome, whole)->value) + " = ";
  for (const char* name : kParts) {
    if (name == kParts[4] && *find(outcome, part(name))->value == 0) continue;
    text += (name == kParts[0] ? "" : " + ") + std::string(name) + " " +
            duration_text(*find(outcome, part(name))->value);
  }
  return text;
}

// Returns what to do about the slowest requests, by the part that takes most of their time.
std::string advice_of(const scenario::Outcome& outcome) {
  static const std::map<std::string, std::string> advice = {
      {"queue",
       "They wait while others are answered: lower the rate, answer several at once "
       "(--max-batch), or make the model faster."},
      {"batcher", "They wait for others to join them: shorten --max-wait."},
      {"pipeline", "Making their inputs takes longest: make smaller batches."},
      {"model", "The model takes longest: see xsp profile for what its time is made of."},
      {"output", "Making answers of its outputs takes longest: see the steps in the timeline."}};
  std::string largest = kParts[0];
  for (const char* name : kParts) {
    const auto* row = find(outcome, "tail." + std::string(name));
    if (*row->value > *find(outcome, "tail." + largest)->value) largest = name;
  }
  return advice.at(largest);
}

// Returns a line for each point of a generation's curve over clients.
std::string curve_of(const scenario::Outcome& outcome) {
  std::string text;
  for (const experiment::ResultRow& row : outcome.results) {
    if (row.metric == "first_token.p50.at_clients") {
      text += row.note + ": first token p50 " + duration_text(*row.value);
    } else if (row.metric == "between_tokens.p50.at_clients") {
      text += ", between tokens p50 " + duration_text(*row.value);
    } else if (row.metric == "tokens_per_s.at_clients") {
      text += ", " + number_text(*row.value) + " tokens/s\n";
    }
  }
  return text;
}

// Returns what a generation's tokens show; empty: there are none.
std::string tokens_of(const scenario::Outcome& outcome) {
  if (find(outcome, "tokens_per_s") == nullptr) return "";
  std::string text;
  for (const auto& [metric, title] : std::vector<std::pair<std::string, std::string>>{
           {"first_token", "time to the first token"}, {"between_tokens", "time between tokens"}}) {
    for (const char* name : {"p50", "p90", "p99"}) {
      const auto* row = find(outcome, metric + "." + name);
      if (row != nullptr) text += title + " " + name + ": " + interval_text(*row, true) + "\n";
    }
  }
  text += "tokens: " + number_text(*find(outcome, "tokens_per_s")->value) + "/s; prefill " +
          number_text(*find(outcome, "prefill.tokens_per_s")->value) + "/s";
  if (const auto* decode = find(outcome, "decode.tokens_per_s")) {
    text += ", decode " + number_text(*decode->value) + "/s";
  }
  char cache[100];
  std::snprintf(cache, sizeof cache, "\ncache: %.3g MB of a request at its end, at most %.3g MB\n",
                *find(outcome, "cache.mean")->value / 1e6,
                *find(outcome, "cache.max")->value / 1e6);
  return text + cache + curve_of(outcome);
}

// Returns how busy each instance was: "busy: 71.2 %, 69.8 %".
std::string busy_of(const scenario::Outcome& outcome) {
  std::string text;
  for (const experiment::ResultRow& row : outcome.results) {
    if (row.metric.rfind(scenario::kBusy, 0) != 0) continue;
    text += (text.empty() ? "" : ", ") + number_text(100 * *row.value) + " %";
  }
  return "busy: " + text + " of the time\n";
}

// Returns the answer: the rate, the latency and where it went, the batches, the verdict.
std::string answer_of(const scenario::Outcome& outcome) {
  std::string text;
  if (const auto* row = find(outcome, "max_rate")) {
    text += "highest rate: ";
    text += row->value ? interval_text(*row, false) + " requests/s" : "not known";
    text += row->low ? "\n" : " (" + row->note + ")\n";
  }
  if (!outcome.incomplete.empty()) text += "incomplete: " + outcome.incomplete + "\n";
  if (find(outcome, "rate") == nullptr) return text + curve_of(outcome);
  text += "rate: " + interval_text(*find(outcome, "rate"), false) + " requests/s, " +
          interval_text(*find(outcome, "answered"), false) + " answered, " +
          interval_text(*find(outcome, "abandoned"), false) + " abandoned\n";
  for (const char* name : {"p50", "p90", "p95", "p99"}) {
    const experiment::ResultRow& row = *find(outcome, "latency." + std::string(name));
    text += "latency " + std::string(name) + ": " + interval_text(row, true) +
            (row.low ? "" : " (too few requests for an interval)") + "\n";
  }
  text += "on average " +
          sum_text(outcome, "latency.mean", [](const std::string& part) { return part + ".mean"; });
  text += "\nslowest 1 % " +
          sum_text(outcome, "tail.latency", [](const std::string& part) { return "tail." + part; });
  text += "\n";
  std::string sizes;
  for (const experiment::ResultRow& row : outcome.results) {
    if (row.metric.rfind("batches_of.", 0) != 0) continue;
    sizes += (sizes.empty() ? "" : ", ") + number_text(*row.value) + " of " + row.metric.substr(11);
  }
  text += "batches: " + sizes + "\n" + busy_of(outcome);
  if (!outcome.verdict.empty()) text += outcome.verdict + "\n";
  text += tokens_of(outcome);
  if (!outcome.loadgen.empty()) text += outcome.loadgen + "\n";
  if (!outcome.is_met) text += advice_of(outcome) + "\n";
  return text;
}

// Returns a line for each metric.
std::string scores_of(const predict::Scored& scored) {
  std::string text;
  for (const experiment::ResultRow& row : scored.rows) {
    text += row.metric + ": " + (row.value ? interval_text(row, false) : row.note) + "\n";
  }
  return text + scored.verdict + (scored.verdict.empty() ? "" : "\n");
}

// Prints the answer, or for a program the rows of the table `result`.
Status show(const EvaluateOptions& options, const experiment::Request& request,
            const scenario::Outcome& outcome, const predict::Scored& scored) {
  if (options.format.format == Format::kTable) {
    std::string text = scores_of(scored) + answer_of(outcome);
    for (const auto& [what, reason] : request.plan.not_measured) {
      if (!options.accuracy) text += "not measured: " + what + ": " + reason + "\n";
    }
    return write_stdout(text);
  }
  XSP_TRY(store::Database database, store::Database::open(outcome.experiment.file));
  XSP_TRY(store::Table results, database.query("FROM result"));
  return write_stdout(render(sheet_of(std::move(results)), options.format, terminal_of(1)));
}

// Reads the data set, and checks its labels if they are to be compared.
Result<Items> items_of(const EvaluateOptions& options) {
  XSP_TRY(std::vector<predict::Item> set, predict::read_dataset(options.data));
  XSP_TRY(Items items, prepare_items(options.model, std::move(set)));
  // A ranking's labels are known; a text may be any.
  for (size_t i = 0; options.accuracy && i < items.labels.size(); ++i) {
    if (items.labels[i].empty() || items.kinds[i] == pipelines::Kind::kSequence) continue;
    XSP_CHECK_OK(predict::check_labels(items.items, items.labels[i]));
    break;
  }
  return items;
}

// Notes the contents of the files that make the load what it is.
Status note_files(const scenario::Scenario& scenario, std::map<std::string, std::string>* facts) {
  for (const auto& [key, file] : {std::pair("scenario.arrivals", &scenario.arrivals),
                                  std::pair("scenario.lengths", &scenario.lengths)}) {
    if (file->empty()) continue;
    XSP_TRY((*facts)[key], manifest::sha256_of_file(*file));
  }
  return Ok{};
}

Status evaluate(const EvaluateOptions& options, int& exit_status) {
  const experiment::Interrupts interrupts;
  XSP_TRY(scenario::Scenario scenario, scenario_of(options));
  std::optional<Items> items;
  std::vector<metrics::Metric> metrics;
  if (!options.data.empty()) {
    XSP_TRY(items, items_of(options));
    if (options.accuracy) {
      XSP_TRY(metrics, predict::metrics_of(items->manifest));
      answer_each(*items, &scenario);
    }
  }
  XSP_TRY(const experiment::Installation installation, experiment::this_installation());
  XSP_TRY(experiment::Request request, make_request(options, installation, interrupts.count()));
  XSP_TRY(const std::string replaced, replaced_by(options, request));
  request.facts["command"] = command_line();
  XSP_CHECK_OK(note_files(scenario, &request.facts));
  if (items) {
    XSP_TRY(auto facts, predict::facts_of_dataset(options.data, items->items));
    request.facts.merge(facts);
  }
  // The requests are the level application, which every run has.
  request.plan.not_measured.erase("application");
  request.limits.time_s = scenario.time_s;
  request.limits.width = 0;  // the load ends after its requests, however wide an interval is
  Result<scenario::Outcome> outcome = failed("");
  predict::Scored scored;
  const auto look = [&](const std::vector<process::OutputAnswer>& answers, bool is_interrupted) {
    // The labels are those of all items.
    if (options.accuracy && !is_interrupted) {
      scored = predict::score(items->manifest, metrics, items->items, answers, items->labels);
    }
    return Result<std::vector<experiment::ResultRow>>(scored.rows);
  };
  {
    const auto progress = make_progress(request.facts["model"] + " on " + request.worker.device,
                                        options.quiet ? Verbosity::kQuiet : Verbosity::kNormal);
    outcome = items ? run_with_items(*items, scenario, request, *progress, interrupts.count(), look)
                    : scenario::run_scenario(scenario, request, *progress, interrupts.count());
  }
  if (!outcome.ok()) return outcome.error();
  XSP_CHECK_OK(show(options, request, *outcome, scored));
  if (outcome->experiment.misplaced) return *outcome->experiment.misplaced;
  if (outcome->experiment.interrupted) {
    return Error{Code::kInterrupted,
                 "interrupted: what was measured is in " + outcome->experiment.file.string()};
  }
  if (!options.quiet) {
    const std::string file = outcome->experiment.file.string();
    std::fprintf(stderr, "wrote %s%s\nnext: xsp analyze slow_requests %s\n", file.c_str(),
                 replaced.c_str(), file.c_str());
  }
  if (!outcome->is_met || !scored.is_met) exit_status = 3;
  return Ok{};
}

// Returns why a text is no rate; empty: it is one.
std::string check_rate(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (is_whole && rate > 0 && rate <= kRateMax) return "";
  return "'" + text + "': not a number of requests per second above 0: give one, such as 100";
}

void add_load(CLI::App* verb, const std::shared_ptr<EvaluateOptions>& options) {
  scenario::Scenario& scenario = options->scenario;
  verb->add_option("--scenario", scenario.name,
                   "How requests come: " + joined(scenario::scenario_names()));
  verb->add_option("--generator", scenario.generator,
                   "What makes the requests: xsp, or MLPerf LoadGen, whose logs are kept beside "
                   "the output and whose verdict is told")
      ->check(CLI::IsMember({"xsp", scenario::kLoadgen}))
      ->capture_default_str();
  verb->add_option("--rate", scenario.rate, "server: requests per second, on average")
      ->check(CLI::Validator(check_rate, "POSITIVE"));
  verb->add_option("--clients", options->clients,
                   "closed: clients that wait for their answers; multi: requests of one query; "
                   "generation: likewise, or numbers such as 1,2,4 for the curve over them")
      ->check(CLI::Range(1, 100'000))
      ->delimiter(',')
      ->type_name("N")
      ->expected(1)
      ->take_all();
  verb->add_option("--arrivals", scenario.arrivals,
                   "replay: file with the time of each arrival in seconds, one in a line")
      ->check(CLI::ExistingFile);
  verb->add_option("--prompt-tokens", scenario.prompt_tokens,
                   "generation: tokens of a prompt: a number, or a range, such as 64..256")
      ->capture_default_str();
  verb->add_option("--output-tokens", scenario.output_tokens,
                   "generation: tokens of an answer, likewise")
      ->capture_default_str();
  verb->add_option("--lengths", scenario.lengths,
                   "generation: file with the tokens of a prompt and of its answer in each line")
      ->check(CLI::ExistingFile);
  verb->add_option("--bound", options->bound,
                   "What the latency must keep, such as p99=10ms; else exit status 3");
  verb->add_option("--instances", scenario.instances,
                   "Instances of the model, each with a thread of its own, that answer from one "
                   "queue; each uses --threads")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  verb->add_option("--max-batch", scenario.max_batch, "Requests that may be joined into a batch")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  verb->add_option("--max-wait", options->max_wait,
                   "Time that a request may wait for others to join it, such as 2ms");
  verb->add_option("--requests", scenario.requests, "Requests of one load")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
}

void add_accuracy(CLI::App* verb, const std::shared_ptr<EvaluateOptions>& options) {
  verb->add_flag("--accuracy", options->accuracy,
                 "Score the model's answers to the files of --data, each once; exit status 3 if "
                 "what its manifest expects is missed");
  verb->add_option("--data", options->data,
                   "What requests bring: a folder with a folder for each label, or a list with a "
                   "file and its label in each line");
}

// Refuses options that do not go together.
Status check_options(const EvaluateOptions& options) {
  const bool has_scenario = !options.scenario.name.empty();
  if (options.accuracy && options.data.empty()) {
    return usage("--data: missing: --accuracy needs files and their labels");
  }
  if (options.accuracy && has_scenario) {
    return usage("--accuracy: it answers each file once: leave --scenario out");
  }
  if (!options.accuracy && !has_scenario) {
    return usage("--scenario: missing: say how requests come, or score answers with --accuracy");
  }
  return Ok{};
}

}  // namespace

void add_evaluate(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<EvaluateOptions>();
  options->counters = "none";  // a load counts nothing
  CLI::App* verb = app.add_subcommand(
      "evaluate", "Let a model answer requests under load, or score its answers");
  verb->add_option("MODEL", options->model,
                   "A name of 'xsp models --list', a model's file, or fake:DESCRIPTION")
      ->type_name("")
      ->required();
  add_load(verb, options);
  add_accuracy(verb, options);
  verb->add_option("--framework", options->framework, "What runs it: a name of 'xsp doctor'");
  verb->add_option("--device", options->device, "cpu, cuda, cuda:N or opencl");
  verb->add_option("--levels", options->levels,
                   "Levels: model,layer,library,api,kernel, or all; else model,layer, and on a GPU "
                   "api,kernel; each costs one more load");
  verb->add_option("--threads", options->threads, "Threads that a layer may use");
  verb->add_option("--seed", options->seed, "Of the arrival times and of made-up inputs")
      ->capture_default_str();
  verb->add_option("--max-time", options->max_time_s,
                   "Seconds of one load; what then waits is abandoned; else 60")
      ->check(CLI::PositiveNumber);
  verb->add_option("--timeout", options->timeout_s,
                   "Seconds without an answer after which the worker is given up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("-o,--output", options->output, "The .xsp file; else MODEL.xsp, here");
  add_force(*verb, options->is_forced);
  add_tags(verb, *options);
  verb->add_flag("--quiet", options->quiet, "No progress, no notes");
  add_output_options(*verb, options->format, false);
  verb->footer(
      "Every figure comes from a run that records only the requests and the model. Each deeper\n"
      "level of --levels has a further run with the same requests, which explains. A request's\n"
      "latency begins at its arrival, even if nobody looked then. Exit status: 0 the bound is\n"
      "met, or none was given, 1 failed, 2 usage, 3 the bound or an expected score is missed, 4\n"
      "not available here.\n"
      "\n"
      "Examples:\n"
      "  xsp evaluate resnet50 --scenario single\n"
      "  xsp evaluate model.onnx --scenario server --rate 50 --bound p99=100ms\n"
      "  xsp evaluate model.onnx --scenario server --rate 200 --max-batch 8 --max-wait 2ms\n"
      "  xsp evaluate model.onnx --scenario server --rate 200 --instances 2 --threads 1\n"
      "  xsp evaluate model.onnx --scenario max-rate --bound p99=10ms\n"
      "  xsp evaluate model.onnx --scenario server --rate 50 --levels all\n"
      "  xsp evaluate fake:layers=1,us=500 --scenario closed --clients 4\n"
      "  xsp evaluate magika --accuracy --data files.tsv --max-batch 8\n"
      "  xsp evaluate magika --scenario server --rate 50 --data files.tsv");
  verb->callback([options, &exit_status] {
    Status status = check_options(*options);
    if (status.ok()) status = evaluate(*options, exit_status);
    if (!status.ok()) exit_status = report(status.error());
  });
}

}  // namespace xsp::cli

#include "desk/experiment/worker.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "desk/experiment/collector_entry.h"
#include "process/worker/protocol.h"
#include "shared/base/words.h"
#include "xsp/plugin.h"

namespace xsp::experiment {
namespace {

using Fields = std::vector<std::string>;
using std::chrono::duration;
using std::chrono::steady_clock;

TimePoint after(TimePoint start, double seconds) {
  return start + std::chrono::duration_cast<steady_clock::duration>(duration<double>(seconds));
}

template <typename T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Begins the text of a failure of the worker's process.
const std::string kOfProcess = "worker: ";

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

// Returns the kind of failure that an adapter reports.
Error error_of(const Fields& fields) {
  const int status = fields.size() > 1 ? parse_number<int>(fields[1]).value_or(0) : 0;
  Error error = failed(fields.size() > 2 ? fields[2] : "the worker failed");
  if (status == XSP_BAD_MODEL) error.code = Code::kCorrupt;
  if (status == XSP_BAD_INPUT) error.code = Code::kUsage;
  if (status == XSP_NOT_AVAILABLE) error.code = Code::kNotAvailable;
  if (status == XSP_OUT_OF_MEMORY) {
    error.code = Code::kOutOfMemory;
    if (error.text.find("memory") == std::string::npos) error.text += ": out of memory";
  }
  return error;
}

Error not_understood(const std::string& line) {
  return failed(kOfProcess + "its answer is not understood: '" + line.substr(0, 80) +
                "': rebuild, so that xsp and xsp-worker are of one version");
}

// A framework that has no CUDA graphs refuses their option by its name, which a user of
// --cuda-graph did not type. Returns an error that speaks of both.
Error named_as_typed(const Error& error, const WorkerOptions& options) {
  const std::pair<std::string, std::string> typed(kCudaGraph, "1");
  const auto& given = options.options;
  if (std::find(given.begin(), given.end(), typed) == given.end()) return error;
  if (!error.text.starts_with("option ") || error.text.find(kCudaGraph) == std::string::npos) {
    return error;
  }
  return not_available("--cuda-graph (--option " + std::string(kCudaGraph) +
                       "=1): " + options.adapter.stem().string() +
                       " has no such option: leave it out, or choose a --framework that has it, "
                       "as torch");
}

Fields command_line(const WorkerOptions& options, const std::string& model) {
  Fields argv = {options.program, "--adapter",    options.adapter, "--model",      model,
                 "--device",      options.device, "--levels",      options.levels, "--trace",
                 options.trace,   "--scratch",    options.scratch};
  const auto add = [&argv](const char* name, const std::string& value) {
    argv.push_back(name);
    argv.push_back(value);
  };
  if (options.batch) add("--batch", std::to_string(*options.batch));
  if (options.threads > 0) add("--threads", std::to_string(options.threads));
  add("--seed", std::to_string(options.seed));
  for (const std::string& input : options.inputs) add("--input", input);
  for (const auto& [key, value] : options.options) add("--option", key + "=" + value);
  if (!options.pipeline.empty()) add("--pipeline", options.pipeline);
  std::string counters;
  for (const std::string& name : options.counters) counters += (counters.empty() ? "" : ",") + name;
  if (!counters.empty()) add("--counters", counters);
  for (const auto& collector : options.collectors) add("--collector", collector);
  if (!options.collectors.empty() && options.replay != "auto") add("--replay", options.replay);
  if (!options.collectors.empty() && options.reuse) argv.push_back("--reuse");
  return argv;
}

// Returns the collectors that must be preloaded, as LD_PRELOAD lists them.
std::string preload_of(const WorkerOptions& options) {
  std::string list;
  for (const std::filesystem::path& collector : options.collectors) {
    if (!is_preloaded(collector_entry(collector))) continue;
    list += (list.empty() ? "" : ":") + collector.string();
  }
  return list;
}

}  // namespace

Error Worker::fail(Error error) {
  failure_ = error;
  return error;
}

Result<Fields> Worker::answer(const std::string& wanted, double limit_s, bool ends_early) {
  TimePoint limit = after(steady_clock::now(), limit_s);
  std::optional<TimePoint> stop_seen;
  // The first Ctrl-C shortens the wait to the grace period, and a second one ends it.
  const auto until = [&]() -> TimePoint {
    const int requests = stop_.load(std::memory_order_relaxed);
    if (requests == 0) return limit;
    if (requests > 1) return steady_clock::now();
    if (!stop_seen) {
      stop_seen = steady_clock::now();
      if (ends_early) ::kill(process_->pid(), SIGINT);
    }
    return std::min(limit, after(*stop_seen, limits_.grace_s));
  };
  for (;;) {
    std::string line;
    const Process::Event event = process_->read_line(until, &line);
    if (event == Process::Event::kEnded) {
      return fail(failed(kOfProcess + process_->cause()));
    }
    if (event == Process::Event::kTimeout) {
      const bool stopped = stop_.load(std::memory_order_relaxed) > 0;
      process_->end(steady_clock::now());
      if (stopped) return fail({Code::kInterrupted, "interrupted while it was working"});
      return fail(failed(kOfProcess + "no answer within " + seconds_text(limit_s) +
                         ": it was killed: allow it more time with --timeout"));
    }
    Fields fields = process::split_fields(line);
    if (fields[0] == wanted) return fields;
    if (fields[0] == "note" && fields.size() > 1) {
      if (take_note_) {
        take_note_(fields[1]);
      } else {
        notes_.push_back(fields[1]);
      }
    } else if ((fields[0] == "input" || fields[0] == "output") && fields.size() > 3) {
      auto& list = fields[0] == "input" ? ready_.inputs : ready_.outputs;
      list.push_back({fields[1], fields[2], fields[3], fields.size() > 4 ? fields[4] : ""});
    } else if (fields[0] == "unknown_batch" && fields.size() > 1) {
      ready_.batch_unknown = fields[1];
    } else if (fields[0] == "progress" && fields.size() > 3 && on_load_) {
      limit = after(steady_clock::now(), limit_s);
      on_load_(parse_number<int64_t>(fields[1]).value_or(0),
               parse_number<int64_t>(fields[2]).value_or(0),
               parse_number<int64_t>(fields[3]).value_or(0));
    } else if (fields[0] == "failed") {
      process_->end(after(steady_clock::now(), limits_.grace_s));
      return fail(error_of(fields));
    } else {
      process_->end(steady_clock::now());
      return fail(not_understood(line));
    }
  }
}

Result<Fields> Worker::ask(const std::string& command, const std::string& wanted, double limit_s,
                           bool ends_early) {
  if (failure_) return *failure_;
  // A process that no longer reads has also closed its replies, so the answer tells why.
  process_->send(command);
  return answer(wanted, limit_s, ends_early);
}

bool is_of_process(const Error& failure) { return failure.text.starts_with(kOfProcess); }

Result<std::unique_ptr<Worker>> Worker::start(const WorkerOptions& options, WorkerLimits limits,
                                              const std::atomic<int>& stop) {
  std::unique_ptr<Worker> worker(new Worker(limits, stop));
  worker->rest_ = options.rest;
  worker->device_ = options.device;
  std::string model = options.model;
  if (options.batch && options.model_of_batch) {
    XSP_TRY(model, options.model_of_batch(*options.batch));
  }
  XSP_TRY(worker->process_, Process::start(command_line(options, model), preload_of(options)));
  worker->take_note_ = options.take_note;
  const auto answered = worker->answer("ready", limits.answer_s);
  worker->take_note_ = nullptr;
  if (!answered.ok()) return named_as_typed(answered.error(), options);
  const Fields& fields = *answered;
  if (fields.size() < 5) return worker->fail(not_understood(fields[0]));
  Ready& ready = worker->ready_;
  ready.framework = fields[1];
  ready.framework_version = fields[2];
  ready.device = fields[3];
  ready.threads = parse_number<int>(fields[4]);
  if (ready.threads == 0) ready.threads.reset();
  if (fields.size() > 5) ready.batch = parse_number<int>(fields[5]);
  if (ready.batch == 0) ready.batch.reset();
  if (fields.size() > 6) ready.iterations_max = parse_number<int>(fields[6]).value_or(0);
  if (fields.size() > 7) ready.iterations_needed = parse_number<int>(fields[7]).value_or(1);
  return worker;
}

Result<Block> Worker::run(int iterations, double expected_s) {
  return run_block("run\t", iterations, expected_s);
}

Result<Block> Worker::warm(int iterations, double expected_s) {
  return run_block("warm\t", iterations, expected_s);
}

Result<Block> Worker::run_block(const char* command, int iterations, double expected_s) {
  const double limit = std::max(limits_.answer_s, 10 * expected_s);
  XSP_TRY(const Fields fields, ask(command + std::to_string(iterations), "ran", limit));
  Block block;
  block.durations_ns.reserve(fields.size());
  const auto first = fields.size() > 1 ? parse_number<int>(fields[1]) : std::nullopt;
  bool understood = first && fields.size() == static_cast<size_t>(iterations) + 2;
  for (size_t i = 2; understood && i < fields.size(); ++i) {
    const auto value = parse_number<int64_t>(fields[i]);
    understood = value && *value >= 0;
    if (understood) block.durations_ns.push_back(*value);
  }
  if (!understood) {
    process_->end(steady_clock::now());
    return fail(not_understood("ran ..."));
  }
  block.first_iteration = *first;
  return block;
}

Result<Loaded> Worker::load(const std::filesystem::path& settings, double expected_s,
                            const OnLoad& on_load) {
  on_load_ = on_load;
  XSP_TRY(const Fields fields, ask(process::join_fields({"load", settings}), "loaded",
                                   expected_s + limits_.answer_s, true));
  Loaded loaded;
  int64_t* const numbers[] = {&loaded.answered, &loaded.abandoned, &loaded.start_ns,
                              &loaded.end_ns};
  int* const counts[] = {&loaded.first_iteration, &loaded.model_runs};
  bool understood = fields.size() == 8;
  for (size_t i = 0; understood && i < 6; ++i) {
    const auto number = parse_number<int64_t>(fields[i + 1]);
    understood = number.has_value();
    if (!understood) break;
    if (i < 4) {
      *numbers[i] = *number;
    } else {
      *counts[i - 4] = static_cast<int>(*number);
    }
  }
  loaded.is_interrupted = understood && fields[7] == "1";
  if (understood) return loaded;
  process_->end(steady_clock::now());
  return fail(not_understood("loaded ..."));
}

Result<std::vector<std::filesystem::path>> Worker::ask_files(const std::string& command,
                                                             const std::string& wanted,
                                                             const std::filesystem::path& folder) {
  XSP_TRY(const Fields fields, ask(command, wanted, limits_.answer_s));
  std::vector<std::filesystem::path> files;
  for (size_t i = 2; i < fields.size(); ++i) files.push_back(folder / fields[i]);
  return files;
}

Result<std::vector<std::filesystem::path>> Worker::make_inputs(
    uint64_t seed, const std::filesystem::path& folder) {
  return ask_files(process::join_fields({"make", std::to_string(seed), folder}), "made", folder);
}

Result<std::vector<std::vector<std::filesystem::path>>> Worker::make_inputs_of_items(
    const std::filesystem::path& items, const std::filesystem::path& folder) {
  XSP_TRY(const std::vector<std::filesystem::path> files,
          ask_files(process::join_fields({"items", items, folder}), "made", folder));
  std::vector<std::vector<std::filesystem::path>> sets;
  const size_t count = std::max<size_t>(ready_.inputs.size(), 1);
  for (size_t i = 0; i + count <= files.size(); i += count) {
    const auto begin = files.begin() + static_cast<ptrdiff_t>(i);
    sets.emplace_back(begin, begin + static_cast<ptrdiff_t>(count));
  }
  return sets;
}

Status Worker::take_inputs(const std::vector<std::filesystem::path>& files) {
  Fields fields = {"take"};
  fields.insert(fields.end(), files.begin(), files.end());
  XSP_CHECK_OK(ask(process::join_fields(fields), "taken", limits_.answer_s));
  return Ok{};
}

Result<std::vector<std::filesystem::path>> Worker::save_results(
    const std::filesystem::path& folder) {
  return ask_files(process::join_fields({"save", folder}), "saved", folder);
}

void Worker::place(unsigned first_processor) {
  // A failure is reported by the run that follows.
  [[maybe_unused]] const auto placed =
      ask("place\t" + std::to_string(first_processor), "placed", limits_.answer_s);
}

std::chrono::milliseconds rest_between_blocks(std::string_view device) {
  // The scheduler remembers the load of sleeping threads with a half-life of 32 ms, and therefore
  // places several threads of the next process on one processor. A ResNet-50 on 16 threads took
  // three times as long for its first 75 ms after another model's block, and its usual time after
  // 50 ms of rest. One thread launches the work of a GPU, and a rest would be most of the time.
  constexpr std::chrono::milliseconds kRest{60};
  return device == "cpu" ? kRest : std::chrono::milliseconds::zero();
}

void Worker::settle() {
  constexpr std::chrono::milliseconds kStep{1};
  constexpr int kLooks = 100;
  constexpr int kAtRest = 2;  // consecutive checks
  if (failure_ || never_rests_) return;
  int at_rest = 0;
  for (int i = 0; i < kLooks; ++i) {
    at_rest = process_->wants_processor() ? 0 : at_rest + 1;
    if (at_rest == kAtRest) {
      std::this_thread::sleep_for(rest_between_blocks(device_));
      return;
    }
    std::this_thread::sleep_for(kStep);
  }
  never_rests_ = true;
  notes_.push_back(
      "its threads do not come to rest between runs, and disturb the runs of the other levels: " +
      (rest_.empty() ? "--threads 1 has none of them" : rest_ + " lets them sleep"));
}

Status Worker::finish() {
  XSP_CHECK_OK(ask("flush", "flushed", limits_.answer_s));
  XSP_CHECK_OK(ask("quit", "bye", limits_.answer_s));
  process_->end(after(steady_clock::now(), limits_.grace_s));
  if (process_->exited_cleanly()) return Ok{};
  return fail(failed(kOfProcess + "after its last run: " + process_->cause()));
}

namespace {

// Returns the fields of the plugin's answer that begins with `wanted`: at least `field_count` of
// them.
Result<Fields> ask_plugin(const Fields& argv, const char* wanted, size_t field_count,
                          const WorkerLimits& limits, const std::atomic<int>& stop) {
  const std::filesystem::path plugin = argv[2];
  // An adapter's library loads its framework, so only a collector's is opened here.
  const bool is_first = argv[1] == "--collector" && is_preloaded(collector_entry(plugin));
  XSP_TRY(const auto process, Process::start(argv, is_first ? plugin.string() : ""));
  const TimePoint limit = after(steady_clock::now(), limits.answer_s);
  const auto until = [&] { return stop.load() > 0 ? steady_clock::now() : limit; };
  for (std::string line;;) {
    switch (process->read_line(until, &line)) {
      case Process::Event::kEnded:
        return failed(plugin.stem().string() + ": its probe " + process->cause());
      case Process::Event::kTimeout:
        return failed(plugin.stem().string() + ": its probe did not answer within " +
                      seconds_text(limits.answer_s));
      case Process::Event::kLine:
        break;
    }
    Fields fields = process::split_fields(line);
    if (fields[0] == "failed") return error_of(fields);
    if (fields[0] != wanted) continue;
    if (fields.size() < field_count) return not_understood(line);
    return fields;
  }
}

}  // namespace

Result<Probe> probe_adapter(const std::filesystem::path& program,
                            const std::filesystem::path& adapter, WorkerLimits limits,
                            const std::atomic<int>& stop) {
  XSP_TRY(const Fields fields,
          ask_plugin({program, "--adapter", adapter, "--probe"}, "probe", 8, limits, stop));
  return Probe{fields[1],
               fields[2],
               fields[3],
               split(fields[4], ','),
               split(fields[5], ','),
               split(fields[6], ','),
               fields[7]};
}

Result<CollectorProbe> probe_collector(const std::filesystem::path& program,
                                       const std::filesystem::path& collector,
                                       const std::string& device, WorkerLimits limits,
                                       const std::atomic<int>& stop) {
  XSP_TRY(Fields fields,
          ask_plugin({program, "--collector", collector, "--probe", "--device", device}, "probe", 8,
                     limits, stop));
  return CollectorProbe{fields[1],
                        split(fields[2], ','),
                        split(fields[3], ','),
                        std::move(fields[4]),
                        std::move(fields[5]),
                        parse_number<int>(fields[6]).value_or(0),
                        std::move(fields[7])};
}

Result<std::vector<std::string>> counter_names(const std::filesystem::path& program,
                                               const std::filesystem::path& collector,
                                               WorkerLimits limits, const std::atomic<int>& stop) {
  XSP_TRY(const Fields fields,
          ask_plugin({program, "--collector", collector, "--names"}, "names", 2, limits, stop));
  return split(fields[1], ',');
}

}  // namespace xsp::experiment

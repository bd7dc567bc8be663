// xsp-worker opens one model with one adapter and obeys its parent. protocol.h has the
// rules.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "process/load/item_inputs.h"
#include "process/load/made_up_server.h"
#include "process/load/make_server.h"
#include "process/load/pipeline_server.h"
#include "process/load/request_spans.h"
#include "process/load/run_load.h"
#include "process/worker/adapter_model.h"
#include "process/worker/collectors.h"
#include "process/worker/inputs.h"
#include "process/worker/options.h"
#include "process/worker/placement.h"
#include "process/worker/protocol.h"
#include "process/worker/replies.h"
#include "process/worker/tensor_files.h"
#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

constexpr uint64_t kIterationsMax = 100'000'000;  // limit of one `run`

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Worker {
 public:
  explicit Worker(WorkerOptions options)
      : options_(std::move(options)), first_(options_, facts_, replies_, options_.scratch) {}

  // Returns the process's exit status.
  int work() {
    if (options_.adapter.empty()) return serve() ? 0 : fail();
    Collectors::take_places(options_, first_.host());
    if (!load() || !probe()) return fail();
    if (options_.probe) return 0;
    if (!start() || !start_collectors() || !first_.open() || !set_inputs()) return fail();
    std::string line;
    while (std::getline(std::cin, line)) {
      const std::vector<std::string> command = split_fields(line);
      if (command[0] == "quit") break;
      if (!obey(command)) return fail();
    }
    finish();
    if (leaves_loadgen_) ::_exit(0);
    return 0;
  }

 private:
  bool wrong(xsp_status status, std::string text) { return first_.wrong(status, std::move(text)); }
  bool wrong(const Error& error) { return first_.wrong(error); }

  bool load() {
    void* library = dlopen(options_.adapter.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return wrong(XSP_NOT_AVAILABLE, "adapter: cannot be loaded, " + std::string(dlerror()) +
                                          ": install what it needs, or build xsp again here");
    }
    facts_.adapter = static_cast<const xsp_adapter*>(dlsym(library, XSP_ADAPTER_SYMBOL));
    if (facts_.adapter == nullptr) {
      return wrong(XSP_NOT_AVAILABLE,
                   options_.adapter + ": not an adapter: it has no symbol " + XSP_ADAPTER_SYMBOL);
    }
    if (facts_.adapter->abi != XSP_PLUGIN_ABI || !XSP_HAS(xsp_adapter, facts_.adapter, close)) {
      return wrong(XSP_NOT_AVAILABLE,
                   options_.adapter + ": built for another version of xsp: rebuild it");
    }
    return true;
  }

  bool probe() {
    probe_.struct_size = sizeof probe_;
    if (!first_.call([&] { return facts_.adapter->probe(first_.host(), &probe_); })) return false;
    const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
    version_ = text(probe_.version);
    if (options_.probe) {
      replies_.send({"probe", facts_.adapter->name, version_, text(probe_.library),
                     text(probe_.devices), text(probe_.formats), text(probe_.pairs),
                     text(probe_.rest)});
    }
    return true;
  }

  bool start() {
    xsp_options recording{};
    recording.struct_size = sizeof recording;
    recording.path = options_.trace.c_str();
    // The only spans of the application level here are a collector's samples of the device.
    recording.levels = options_.levels | XSP_LEVEL_BIT(XSP_LEVEL_APPLICATION);
    const int error = xsp_start(&recording);
    if (error != 0) return wrong(XSP_FAILED, options_.trace + ": " + std::strerror(error));
    facts_.name = std::filesystem::path(options_.model).stem().string();
    facts_.site = {facts_.name.c_str(), nullptr, XSP_LEVEL_MODEL,
                   xsp_intern_site(XSP_LEVEL_MODEL, facts_.name.c_str(), nullptr)};
    facts_.iteration_key = xsp_intern_key(kIterationKey);
    return true;
  }

  bool serve() {
    const Status served = serve_collector(
        options_, first_.host(), first_.why(),
        [this](const auto& fields) { replies_.send(fields); }, std::cin);
    return served.ok() || wrong(served.error());
  }

  bool start_collectors() {
    const Status started = collectors_.start(options_, first_.host(), first_.why());
    facts_.counts_spans = collectors_.counts_spans();
    return started.ok() || wrong(started.error());
  }

  void describe(const char* what, const std::string& name, uint32_t dtype,
                const std::vector<int64_t>& dimensions, const std::string* values) {
    std::string shape;
    for (const int64_t d : dimensions) shape += (shape.empty() ? "" : ",") + std::to_string(d);
    std::vector<std::string> fields = {what, name, dtype_name(dtype), shape};
    if (values != nullptr) fields.push_back(*values);
    replies_.send(fields);
  }

  bool set_inputs() {
    const xsp_tensor_info* infos = nullptr;
    size_t count = 0;
    if (!first_.call([&] { return facts_.adapter->inputs(first_.get(), &infos, &count); }))
      return false;
    input_specs_ = specs_of(infos, count);
    if (!first_.call([&] { return facts_.adapter->outputs(first_.get(), &infos, &count); }))
      return false;
    output_specs_ = specs_of(infos, count);
    if (!options_.pipeline.empty()) {
      Result<ModelPipelines> read = read_pipelines(options_.pipeline, input_specs_, output_specs_);
      if (!read.ok()) return wrong(read.error());
      pipelines_ = std::move(*read);
      suit_specs(*pipelines_, &input_specs_);
    }
    Result<Inputs> made = make_inputs(input_specs_, output_specs_, options_);
    if (!made.ok()) return wrong(made.error());
    if (pipelines_) {
      const Status suited = suit_tensors(*pipelines_, &*made);
      if (!suited.ok()) return wrong(suited.error());
    }
    for (const Tensor& tensor : made->tensors) {
      describe("input", tensor.name, tensor.dtype, tensor.dimensions, &tensor.values);
    }
    for (const TensorSpec& spec : output_specs_) {
      describe("output", spec.name, spec.dtype, spec.dimensions, nullptr);
    }
    made_up_ = made_up_text(made->tensors);
    for (const std::string& note : made->notes) replies_.send({"note", note});
    if (!made->batch) replies_.send({"unknown_batch", made->batch_unknown});
    if (!first_.set_tensors(made->tensors)) return false;
    const bool is_limited =
        XSP_HAS(xsp_adapter, facts_.adapter, runs_max) && facts_.adapter->runs_max != nullptr;
    const uint64_t runs_max = is_limited ? facts_.adapter->runs_max(first_.get()) : 0;
    replies_.send({"ready", facts_.adapter->name, version_, options_.device,
                   std::to_string(options_.threads), std::to_string(made->batch.value_or(0)),
                   std::to_string(runs_max), std::to_string(collectors_.runs_needed())});
    return true;
  }

  bool obey(const std::vector<std::string>& command) {
    if (command[0] == "place" && command.size() == 2) return place(command[1]);
    if (command[0] == "run" && command.size() == 2) return run(command[1], false);
    if (command[0] == "warm" && command.size() == 2) return run(command[1], true);
    if (command[0] == "save" && command.size() == 2) return save(command[1]);
    if (command[0] == "make" && command.size() == 3) return make(command[1], command[2]);
    if (command[0] == "items" && command.size() == 3) return items(command[1], command[2]);
    if (command[0] == "take") return take({command.begin() + 1, command.end()});
    if (command[0] == "load" && command.size() == 2) return load_requests(command[1]);
    if (command[0] == "flush") {
      if (!flush()) return false;
      xsp_flush();
      replies_.send({"flushed"});
      return true;
    }
    return wrong(XSP_FAILED, "worker: unknown command '" + command[0] + "'");
  }

  static std::optional<uint64_t> number_of(const std::string& text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  }

  bool place(const std::string& argument) {
    const auto first = number_of(argument);
    if (!first) return wrong(XSP_FAILED, "worker: place '" + argument + "': not a number");
    first_processor_ = static_cast<unsigned>(*first);
    replies_.send({"placed"});
    return true;
  }

  bool run(const std::string& argument, bool is_warmup) {
    const auto count = number_of(argument);
    if (!count || *count == 0 || *count > kIterationsMax) {
      return wrong(XSP_FAILED, "worker: run '" + argument + "': not a number of iterations");
    }
    durations_ns_.assign(*count, 0);
    if (!first_.call([&] { return run_iterations(is_warmup); })) {
      if (!has_run_ && first_.status() != XSP_OUT_OF_MEMORY) first_.add_to_why(made_up_);
      return false;
    }
    has_run_ = true;
    std::vector<std::string> reply = {"ran", std::to_string(facts_.iteration)};
    for (const int64_t duration : durations_ns_) reply.push_back(std::to_string(duration));
    facts_.iteration += static_cast<int64_t>(*count);
    replies_.send(reply);
    return true;
  }

  bool flush() {
    for (const auto& instance : further_) {
      if (!instance->flush()) return wrong(instance->error());
    }
    return first_.flush();
  }

  // Opens further instances of the model until there are as many.
  Status open_instances(size_t count) {
    if (count > 1 && (!XSP_HAS(xsp_adapter, facts_.adapter, opens_several) ||
                      facts_.adapter->opens_several == 0)) {
      return not_available(std::string("instances: ") + facts_.adapter->name +
                           " cannot run several of them in one process: leave --instances out");
    }
    while (1 + further_.size() < count) {
      const std::string scratch =
          options_.scratch + "/instance_" + std::to_string(1 + further_.size());
      std::error_code error;
      std::filesystem::create_directory(scratch, error);
      auto instance = std::make_unique<AdapterModel>(options_, facts_, replies_, scratch);
      if (!instance->open()) return instance->error();
      further_.push_back(std::move(instance));
    }
    return Ok{};
  }

  AdapterModel& instance(size_t number) { return number == 0 ? first_ : *further_[number - 1]; }

  Result<LoadReport> serve_load(const LoadSettings& settings, int64_t* first) {
    XSP_CHECK_OK(open_instances(settings.instances));
    std::vector<std::unique_ptr<Server>> servers;
    std::vector<Server*> all;
    for (size_t i = 0; i < settings.instances; ++i) {
      XSP_TRY(servers.emplace_back(),
              make_server(instance(i), settings_of_instance(settings, i), input_specs_,
                          output_specs_, options_, pipelines_));
      XSP_CHECK_OK(warm_sizes(instance(i), *servers[i], settings.max_batch));
      all.push_back(servers[i].get());
    }
    *first = facts_.iteration;
    XSP_TRY(LoadReport report,
            run_load(settings, all, [this](const auto& fields) { replies_.send(fields); }));
    for (const auto& server : servers) XSP_CHECK_OK(server->close());
    XSP_CHECK_OK(join_outputs(settings));
    return report;
  }

  bool load_requests(const std::string& path) {
    facts_.request_key = xsp_intern_key(kRequestKey);
    int64_t first = 0;
    const Result<LoadSettings> settings = read_load_settings(path);
    if (!settings.ok()) return wrong(settings.error());
    const auto report = serve_load(*settings, &first);
    if (!report.ok()) return wrong(report.error());
    leaves_loadgen_ |= settings->generator == Generator::kLoadgen && report->is_interrupted;
    replies_.send({"loaded", std::to_string(report->answers.size()),
                   std::to_string(report->abandoned), std::to_string(report->start_ns),
                   std::to_string(report->end_ns), std::to_string(first),
                   std::to_string(facts_.iteration - first), report->is_interrupted ? "1" : "0"});
    return true;
  }

  // Only the run, its span and two readings of the clock are between the readings of an iteration.
  xsp_status run_iterations(bool is_warmup) {
    const bool collects = !collectors_.empty();
    // A thread that sleeps moves when it wakes, which is in the first iteration.
    std::optional<Placement> placement;
    if (first_processor_) placement.emplace(*first_processor_);
    first_processor_.reset();
    for (size_t i = 0; i < durations_ns_.size(); ++i) {
      first_.record_first_details(!is_warmup);
      xsp_span span = xsp_begin(&facts_.site);
      if (collects) collectors_.begin(is_warmup);
      const int64_t begin = now_ns();
      const xsp_status status = facts_.adapter->run(first_.get());
      durations_ns_[i] = now_ns() - begin;
      if (collects) collectors_.end(&span, is_warmup);
      if (status != XSP_OK)
        return status;  // the span stays open, because the iteration did not finish
      xsp_span_int(&span, facts_.iteration_key, facts_.iteration + static_cast<int64_t>(i));
      xsp_end(&span);
      placement.reset();
    }
    return XSP_OK;
  }

  bool reply_files(const char* what, const std::string& folder, const xsp_tensor* tensors,
                   size_t count) {
    return reply_names(what, write_tensors(folder, tensors, count));
  }

  bool reply_names(const char* what, const Result<std::vector<std::string>>& files) {
    if (!files.ok()) return wrong(files.error());
    std::vector<std::string> reply = {what, std::to_string(files->size())};
    reply.insert(reply.end(), files->begin(), files->end());
    replies_.send(reply);
    return true;
  }

  bool save(const std::string& folder) {
    const xsp_tensor* tensors = nullptr;
    size_t count = 0;
    return first_.call([&] { return facts_.adapter->results(first_.get(), &tensors, &count); }) &&
           reply_files("saved", folder, tensors, count);
  }

  bool make(const std::string& seed, const std::string& folder) {
    const auto number = number_of(seed);
    if (!number) return wrong(XSP_FAILED, "worker: make '" + seed + "': not a seed");
    options_.seed = *number;
    const Result<Inputs> made = make_inputs(input_specs_, output_specs_, options_);
    if (!made.ok()) return wrong(made.error());
    const std::vector<xsp_tensor> tensors = views_of(made->tensors);
    return first_.set_tensors(made->tensors) &&
           reply_files("made", folder, tensors.data(), tensors.size());
  }

  bool items(const std::string& file, const std::string& folder) {
    if (!pipelines_) return wrong(XSP_FAILED, "worker: items: there is no pipeline");
    return reply_names("made", write_inputs_of_items(first_, *pipelines_, file, folder));
  }

  bool take(const std::vector<std::string>& files) {
    const auto tensors = read_tensors(files, input_specs_);
    if (!tensors.ok()) return wrong(tensors.error());
    if (!first_.set_tensors(*tensors)) return false;
    replies_.send({"taken"});
    return true;
  }

  int fail() {
    replies_.send({"failed", std::to_string(static_cast<int>(first_.status())), first_.why()});
    // Earlier measurements are valuable: the model may still hold layers of earlier runs.
    if (first_.is_open()) close();
    stop();
    return 1;
  }

  void close() {
    for (const auto& instance : further_) instance->close();
    further_.clear();
    first_.close();
  }

  void stop() {
    collectors_.stop();
    xsp_stop();
  }

  void finish() {
    close();
    stop();
    xsp_counts counts{};
    counts.struct_size = sizeof counts;
    xsp_get_counts(&counts);
    const uint64_t dropped = counts.dropped_ring + counts.dropped_file + counts.dropped_site;
    replies_.send({"bye", std::to_string(counts.recorded), std::to_string(dropped)});
  }

  WorkerOptions options_;
  Replies replies_;
  ModelFacts facts_;
  AdapterModel first_;  // the instance that all commands but `load` mean
  std::vector<std::unique_ptr<AdapterModel>> further_;
  xsp_probe probe_{};
  std::string version_;
  Collectors collectors_;
  std::vector<TensorSpec> input_specs_;
  std::string made_up_;  // what to say of made-up inputs if the first run fails
  bool has_run_ = false;
  bool leaves_loadgen_ = false;  // its threads go on, and must not see what an exit destroys
  std::vector<TensorSpec> output_specs_;
  std::optional<ModelPipelines> pipelines_;
  std::optional<unsigned> first_processor_;  // where the threads begin the next run: see Placement
  std::vector<int64_t> durations_ns_;
};

int worker_main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  Result<WorkerOptions> options =
      parse_worker_options(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.ok()) {
    Replies().send({"failed", std::to_string(XSP_BAD_INPUT), options.error().text});
    return 1;
  }
  return Worker(std::move(*options)).work();
}

}  // namespace
}  // namespace xsp::process

int main(int argc, char** argv) { return xsp::process::worker_main(argc, argv); }

// xsp-worker opens one model with one adapter and obeys its parent. protocol.h has the
// rules.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "process/load/item_inputs.h"
#include "process/load/made_up_server.h"
#include "process/load/make_server.h"
#include "process/load/pipeline_server.h"
#include "process/load/request_spans.h"
#include "process/load/run_load.h"
#include "process/worker/collectors.h"
#include "process/worker/inputs.h"
#include "process/worker/options.h"
#include "process/worker/placement.h"
#include "process/worker/protocol.h"
#include "process/worker/replies.h"
#include "process/worker/tensor_files.h"
#include "shared/base/guard.h"
#include "xsp/plugin.hpp"

namespace xsp::process {
namespace {

constexpr uint64_t kIterationsMax = 100'000'000;  // limit of one `run`
constexpr const char* kLayerEnergy = "layer_energy";
constexpr int kDetailedInferences = 3;  // the first measured inferences

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* status_text(xsp_status status) {
  switch (status) {
    case XSP_BAD_MODEL:
      return "not a model that this framework can run";
    case XSP_BAD_INPUT:
      return "the model does not accept its inputs";
    case XSP_NOT_AVAILABLE:
      return "the framework or the device is not available here";
    case XSP_OUT_OF_MEMORY:
      return "out of memory";
    default:
      return "the framework failed without saying why";
  }
}

class Worker : public OpenModel {
 public:
  explicit Worker(WorkerOptions options) : options_(std::move(options)) {
    host_ = {sizeof host_, this, on_fail, on_note, options_.scratch.c_str()};
  }

  // Returns the process's exit status.
  int work() {
    if (options_.adapter.empty()) return serve() ? 0 : fail();
    Collectors::take_places(options_, &host_);
    if (!load() || !probe()) return fail();
    if (options_.probe) return 0;
    if (!start() || !start_collectors() || !open() || !set_inputs()) return fail();
    std::string line;
    while (std::getline(std::cin, line)) {
      const std::vector<std::string> command = split_fields(line);
      if (command[0] == "quit") break;
      if (!obey(command)) return fail();
    }
    finish();
    return 0;
  }

 private:
  static void on_fail(void* context, const char* text) {
    static_cast<Worker*>(context)->why_ = text == nullptr ? "" : text;
  }
  static void on_note(void* context, const char* text) {
    static_cast<Worker*>(context)->replies_.send({"note", text});
  }

  bool wrong(xsp_status status, std::string text) {
    status_ = status;
    why_ = std::move(text);
    return false;
  }
  bool wrong(const Error& error) {
    return wrong(error.code == Code::kNotAvailable ? XSP_NOT_AVAILABLE
                 : error.code == Code::kFailed     ? XSP_FAILED
                                                   : XSP_BAD_INPUT,
                 error.text);
  }

  // Calls the adapter. Its exceptions should not get here; those of a faulty adapter end here.
  bool call(const std::function<xsp_status()>& function) {
    why_.clear();
    status_ = XSP_OK;
    const std::optional<Thrown> thrown = guard([&] { status_ = function(); });
    if (thrown.has_value()) {
      return wrong(thrown->out_of_memory ? XSP_OUT_OF_MEMORY : XSP_FAILED, thrown->text);
    }
    if (status_ != XSP_OK && why_.empty()) why_ = options_.model + ": " + status_text(status_);
    return status_ == XSP_OK;
  }

  bool load() {
    void* library = dlopen(options_.adapter.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return wrong(XSP_NOT_AVAILABLE, "adapter: cannot be loaded, " + std::string(dlerror()) +
                                          ": install what it needs, or build xsp again here");
    }
    adapter_ = static_cast<const xsp_adapter*>(dlsym(library, XSP_ADAPTER_SYMBOL));
    if (adapter_ == nullptr) {
      return wrong(XSP_NOT_AVAILABLE,
                   options_.adapter + ": not an adapter: it has no symbol " + XSP_ADAPTER_SYMBOL);
    }
    if (adapter_->abi != XSP_PLUGIN_ABI || !XSP_HAS(xsp_adapter, adapter_, close)) {
      return wrong(XSP_NOT_AVAILABLE,
                   options_.adapter + ": built for another version of xsp: rebuild it");
    }
    return true;
  }

  bool probe() {
    probe_.struct_size = sizeof probe_;
    if (!call([&] { return adapter_->probe(&host_, &probe_); })) return false;
    const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
    version_ = text(probe_.version);
    if (options_.probe) {
      replies_.send({"probe", adapter_->name, version_, text(probe_.library), text(probe_.devices),
                     text(probe_.formats), text(probe_.pairs)});
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
    name_ = std::filesystem::path(options_.model).stem().string();
    site_ = {name_.c_str(), nullptr, XSP_LEVEL_MODEL,
             xsp_intern_site(XSP_LEVEL_MODEL, name_.c_str(), nullptr)};
    iteration_key_ = xsp_intern_key(kIterationKey);
    return true;
  }

  bool serve() {
    const Status served = serve_collector(
        options_, &host_, why_, [this](const auto& fields) { replies_.send(fields); }, std::cin);
    return served.ok() || wrong(served.error());
  }

  bool start_collectors() {
    const Status started = collectors_.start(options_, &host_, why_);
    return started.ok() || wrong(started.error());
  }

  bool open() {
    std::vector<xsp_option> options;
    for (const auto& [key, value] : options_.options)
      options.push_back({key.c_str(), value.c_str()});
    xsp_open_options open{};
    open.struct_size = sizeof open;
    open.path = options_.model.c_str();
    open.device = options_.device.c_str();
    open.levels = options_.levels;
    open.threads = options_.threads;
    open.options = options.data();
    open.option_count = options.size();
    open.model_site = site_.id;
    const auto& counters = options_.counters;
    open.repeats_layers =
        std::find(counters.begin(), counters.end(), kLayerEnergy) != counters.end() ? 1 : 0;
    return call([&] { return adapter_->open(&host_, &open, &model_); });
  }

  void describe(const char* what, const std::string& name, uint32_t dtype,
                const std::vector<int64_t>& dimensions, const std::string* values) {
    std::string shape;
    for (const int64_t d : dimensions) shape += (shape.empty() ? "" : ",") + std::to_string(d);
    std::vector<std::string> fields = {what, name, dtype_name(dtype), shape};
    if (values != nullptr) fields.push_back(*values);
    replies_.send(fields);
  }

  bool set_tensors(const std::vector<Tensor>& made) {
    const std::vector<xsp_tensor> tensors = views_of(made);
    return call([&] { return adapter_->set_inputs(model_, tensors.data(), tensors.size()); });
  }

  bool set_inputs() {
    const xsp_tensor_info* infos = nullptr;
    size_t count = 0;
    if (!call([&] { return adapter_->inputs(model_, &infos, &count); })) return false;
    input_specs_ = specs_of(infos, count);
    if (!call([&] { return adapter_->outputs(model_, &infos, &count); })) return false;
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
      const Status suited = suit_tensors(*pipelines_, &made->tensors);
      if (!suited.ok()) return wrong(suited.error());
    }
    for (const Tensor& tensor : made->tensors) {
      describe("input", tensor.name, tensor.dtype, tensor.dimensions, &tensor.values);
    }
    for (const TensorSpec& spec : output_specs_) {
      describe("output", spec.name, spec.dtype, spec.dimensions, nullptr);
    }
    for (const std::string& note : made->notes) replies_.send({"note", note});
    if (!made->batch) replies_.send({"unknown_batch", made->batch_unknown});
    if (!set_tensors(made->tensors)) return false;
    const bool is_limited =
        XSP_HAS(xsp_adapter, adapter_, runs_max) && adapter_->runs_max != nullptr;
    const uint64_t runs_max = is_limited ? adapter_->runs_max(model_) : 0;
    replies_.send({"ready", adapter_->name, version_, options_.device,
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
      if (!call([&] { return adapter_->flush(model_); })) return false;
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
    if (!call([&] { return run_iterations(is_warmup); })) return false;
    std::vector<std::string> reply = {"ran", std::to_string(iteration_)};
    for (const int64_t duration : durations_ns_) reply.push_back(std::to_string(duration));
    iteration_ += static_cast<int64_t>(*count);
    replies_.send(reply);
    return true;
  }

  Error error() const { return {status_ == XSP_BAD_INPUT ? Code::kUsage : Code::kFailed, why_}; }

  Status set(const std::vector<Tensor>& inputs) override {
    return set_tensors(inputs) ? Status(Ok{}) : error();
  }

  Status run(size_t batch, int64_t request) override {
    xsp_span span = xsp_begin(&site_);
    if (!call([&] { return adapter_->run(model_); })) return error();
    xsp_span_int(&span, iteration_key_, iteration_++);
    xsp_span_batch(&span, static_cast<int64_t>(batch));
    if (request >= 0) xsp_span_int(&span, request_key_, request);
    xsp_end(&span);
    return Ok{};
  }

  Result<std::vector<Tensor>> results() override {
    const xsp_tensor* tensors = nullptr;
    size_t count = 0;
    if (!call([&] { return adapter_->results(model_, &tensors, &count); })) return error();
    return tensors_of(tensors, count);
  }

  bool keeps_tokens() const override {
    return XSP_HAS(xsp_adapter, adapter_, kept_bytes) && adapter_->keep_tokens != nullptr;
  }
  Status keep_tokens(size_t sequences, size_t tokens) override {
    const bool is_kept = call([&] { return adapter_->keep_tokens(model_, sequences, tokens); });
    return is_kept ? Status(Ok{}) : error();
  }
  size_t kept_bytes() override { return adapter_->kept_bytes(model_); }

  Result<LoadReport> serve_load(const LoadSettings& settings, int64_t* first) {
    XSP_TRY(const auto server,
            make_server(*this, settings, input_specs_, output_specs_, options_, pipelines_));
    XSP_CHECK_OK(warm_sizes(*this, *server, settings.max_batch));
    *first = iteration_;
    XSP_TRY(LoadReport report,
            run_load(settings, *server, [this](const auto& fields) { replies_.send(fields); }));
    XSP_CHECK_OK(server->close());
    return report;
  }

  bool load_requests(const std::string& path) {
    request_key_ = xsp_intern_key(kRequestKey);
    int64_t first = 0;
    const Result<LoadSettings> settings = read_load_settings(path);
    if (!settings.ok()) return wrong(settings.error());
    const auto report = serve_load(*settings, &first);
    if (!report.ok()) return wrong(report.error());
    replies_.send({"loaded", std::to_string(report->answers.size()),
                   std::to_string(report->abandoned), std::to_string(report->start_ns),
                   std::to_string(report->end_ns), std::to_string(first),
                   std::to_string(iteration_ - first)});
    return true;
  }

  void record_details(bool on) {
    if (on) ++detailed_;
    if (on == records_details_) return;
    records_details_ = on;
    if (XSP_HAS(xsp_adapter, adapter_, record_details) && adapter_->record_details != nullptr) {
      adapter_->record_details(model_, on ? 1 : 0);
    }
  }

  // Only the run, its span and two readings of the clock are between the readings of an iteration.
  xsp_status run_iterations(bool is_warmup) {
    const bool collects = !collectors_.empty();
    // A thread that sleeps moves when it wakes, which is in the first iteration.
    std::optional<Placement> placement;
    if (first_processor_) placement.emplace(*first_processor_);
    first_processor_.reset();
    for (size_t i = 0; i < durations_ns_.size(); ++i) {
      record_details(!is_warmup && detailed_ < kDetailedInferences);
      xsp_span span = xsp_begin(&site_);
      if (collects) collectors_.begin(is_warmup);
      const int64_t begin = now_ns();
      const xsp_status status = adapter_->run(model_);
      durations_ns_[i] = now_ns() - begin;
      if (collects) collectors_.end(&span, is_warmup);
      if (status != XSP_OK)
        return status;  // the span stays open, because the iteration did not finish
      xsp_span_int(&span, iteration_key_, iteration_ + static_cast<int64_t>(i));
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
    return call([&] { return adapter_->results(model_, &tensors, &count); }) &&
           reply_files("saved", folder, tensors, count);
  }

  bool make(const std::string& seed, const std::string& folder) {
    const auto number = number_of(seed);
    if (!number) return wrong(XSP_FAILED, "worker: make '" + seed + "': not a seed");
    options_.seed = *number;
    const Result<Inputs> made = make_inputs(input_specs_, output_specs_, options_);
    if (!made.ok()) return wrong(made.error());
    const std::vector<xsp_tensor> tensors = views_of(made->tensors);
    return set_tensors(made->tensors) &&
           reply_files("made", folder, tensors.data(), tensors.size());
  }

  bool items(const std::string& file, const std::string& folder) {
    if (!pipelines_) return wrong(XSP_FAILED, "worker: items: there is no pipeline");
    return reply_names("made", write_inputs_of_items(*this, *pipelines_, file, folder));
  }

  bool take(const std::vector<std::string>& files) {
    const auto tensors = read_tensors(files, input_specs_);
    if (!tensors.ok()) return wrong(tensors.error());
    if (!set_tensors(*tensors)) return false;
    replies_.send({"taken"});
    return true;
  }

  int fail() {
    replies_.send({"failed", std::to_string(static_cast<int>(status_)), why_});
    // Earlier measurements are valuable: the model may still hold layers of earlier runs.
    if (model_ != nullptr) close();
    stop();
    return 1;
  }

  // Writes every layer to the trace, even if `flush` was not requested.
  void close() {
    call([&] { return adapter_->flush(model_); });
    call([&] {
      adapter_->close(model_);
      return XSP_OK;
    });
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
  xsp_host host_{};
  const xsp_adapter* adapter_ = nullptr;
  xsp_probe probe_{};
  std::string version_;
  Collectors collectors_;
  xsp_model* model_ = nullptr;
  std::string name_;  // name of the model
  xsp_site site_{};
  uint32_t iteration_key_ = 0;
  uint32_t request_key_ = 0;
  std::vector<TensorSpec> input_specs_;
  std::vector<TensorSpec> output_specs_;
  std::optional<ModelPipelines> pipelines_;
  int64_t iteration_ = 0;
  int detailed_ = 0;  // inferences in which details were recorded
  bool records_details_ = false;
  std::optional<unsigned> first_processor_;  // where the threads begin the next run: see Placement
  std::vector<int64_t> durations_ns_;
  xsp_status status_ = XSP_OK;
  std::string why_;
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

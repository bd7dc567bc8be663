#include "cli/request.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/nearest.h"
#include "evaluate/capabilities.h"
#include "evaluate/gpu.h"
#include "evaluate/plan.h"
#include "models/onnx/reader.h"
#include "models/zoo.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// What the user's word for the model stands for.
struct Model {
  std::string name;  // what the output is named after
  std::string path;  // what the adapter opens
  uint64_t bytes = 0;
};

uint64_t bytes_in(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error)) bytes += it->file_size(error);
  }
  return bytes;
}

// What the weights' file of MXNet and Caffe adds to the description that was named, or the other
// way round; 0: the model is one file.
uint64_t bytes_beside(const fs::path& path, const std::string& stem) {
  const std::string ending = path.extension();
  const fs::path folder = path.parent_path();
  const auto size = [&](const std::string& name) {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(folder / name, error);
    return error ? 0 : static_cast<uint64_t>(bytes);
  };
  if (ending == ".prototxt") return size(stem + ".caffemodel");
  if (ending == ".caffemodel") return size(stem + ".prototxt");
  if (ending == ".json") return size(stem + "-0000.params");
  if (ending == ".params") return size(stem + "-symbol.json");
  return 0;
}

// resnet50 of resnet50-symbol.json and of resnet50-0000.params, which are MXNet's names for files.
std::string stem_of(const fs::path& path) {
  std::string stem = path.stem();
  const size_t dash = stem.rfind('-');
  if (dash == std::string::npos || dash == 0) return stem;
  const std::string rest = stem.substr(dash + 1);
  const bool is_number = rest.find_first_not_of("0123456789") == std::string::npos;
  const bool is_mxnet = (path.extension() == ".json" && rest == "symbol") ||
                        (path.extension() == ".params" && is_number);
  return is_mxnet ? stem.substr(0, dash) : stem;
}

// A model's file, or the description of one that an adapter makes up itself.
Result<Model> resolve_model(const std::string& word, const evaluate::Installation& installation) {
  const size_t colon = word.find(':');
  if (colon != std::string::npos) {
    const std::string prefix = word.substr(0, colon);
    for (const std::string& name : evaluate::framework_names(installation)) {
      if (name == prefix) return Model{name, word, 0};
    }
  }
  std::string path = word;
  const bool is_known = models::find_model(word) != nullptr;
  if (is_known) {
    XSP_TRY(path, models::cached_model(word));
  }
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    const std::string why = std::strerror(errno);
    std::vector<std::string> names;
    for (const models::ModelDescription& model : models::all_models()) names.push_back(model.name);
    return failed(word + ": cannot be opened: " + why + ": " +
                  did_you_mean(word, names, "name a model's file, or one of 'xsp models --list'"));
  }
  if (S_ISDIR(facts.st_mode)) {  // some frameworks write a model as several files
    const fs::path given(path);
    const fs::path folder = given.has_filename() ? given : given.parent_path();
    return Model{folder.stem().string(), folder, bytes_in(folder)};
  }
  if (!S_ISREG(facts.st_mode)) {
    return failed(word + ": not a regular file: name a model's file or folder");
  }
  const std::string stem = stem_of(path);
  return Model{is_known ? word : stem, path,
               static_cast<uint64_t>(facts.st_size) + bytes_beside(path, stem)};
}

// The layers of the model's own file. None if it is of another kind, or if it cannot be understood:
// whether it is sound is for the framework to say.
std::vector<std::pair<std::string, std::string>> layers_of(const Model& model) {
  std::vector<std::pair<std::string, std::string>> layers;
  if (fs::path(model.path).extension() != ".onnx") return layers;
  const auto graph = models::read_graph(model.path);
  if (!graph.ok()) return layers;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    layers.emplace_back(models::node_label(*graph, i), graph->nodes[i].op_type);
  }
  return layers;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_framework_options(
    const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const std::string& text : texts) {
    const size_t equal = text.find('=');
    if (equal == std::string::npos || equal == 0) {
      return usage("--option '" + text + "': not key=value: give one, e.g. " +
                   "graph_optimization=basic");
    }
    options.emplace_back(text.substr(0, equal), text.substr(equal + 1));
  }
  return options;
}

Result<evaluate::Wanted> parse_wanted(const RequestOptions& options) {
  evaluate::Wanted wanted;
  if (!options.levels.empty()) {
    XSP_TRY(wanted.levels, evaluate::parse_levels(options.levels));
  }
  if (!options.batch.empty()) {
    XSP_TRY(wanted.batches, evaluate::parse_batches(options.batch));
  }
  if (!options.counters.empty()) {
    XSP_TRY(wanted.counters, evaluate::parse_counters(options.counters));
  }
  return wanted;
}

// Chooses the device, and plans what to measure on it.
Status plan_request(const RequestOptions& options, const evaluate::Probe& framework,
                    const evaluate::Wanted& wanted, const evaluate::Installation& installation,
                    const std::atomic<int>& stop, evaluate::Request* request) {
  const evaluate::Gpu gpu = evaluate::find_gpu();
  std::string& device = request->worker.device;
  if (options.device.empty())
    device = evaluate::default_device(framework, gpu, request->worker.options);
  XSP_CHECK_OK(evaluate::check_device(device, gpu));
  const auto collectors = evaluate::probe_collectors(installation, device, stop);
  evaluate::Capabilities capabilities = evaluate::capabilities_of(collectors, device, gpu);
  if (wanted.counters) {
    XSP_CHECK_OK(evaluate::add_counter_names(installation, *wanted.counters, &capabilities, stop));
  }
  XSP_TRY(request->plan, evaluate::make_plan(wanted, capabilities));
  request->monitors = evaluate::monitors_of(collectors);
  return Ok{};
}

}  // namespace

Result<evaluate::Request> make_request(const RequestOptions& options,
                                       const evaluate::Installation& installation,
                                       const std::atomic<int>& stop) {
  evaluate::Request request;
  // What can be refused without any work is refused first.
  XSP_TRY(const evaluate::Wanted wanted, parse_wanted(options));
  XSP_TRY(request.worker.options, parse_framework_options(options.framework_options));
  if (options.cuda_graph) request.worker.options.emplace_back("cuda_graph", "1");
  if (!options.device.empty()) {
    XSP_TRY(request.worker.device, evaluate::parse_device(options.device));
  }
  XSP_TRY(const Model model, resolve_model(options.model, installation));
  XSP_TRY(const evaluate::Framework framework,
          evaluate::choose_framework(installation, options.framework, model.path, stop));
  XSP_CHECK_OK(plan_request(options, *framework.probe, wanted, installation, stop, &request));
  request.worker.program = installation.worker;
  request.worker.adapter = framework.adapter;
  request.worker.model = model.path;
  request.worker.threads = options.threads;
  request.worker.seed = options.seed;
  request.worker.inputs = options.inputs;
  request.worker.replay = options.replay;
  request.worker.reuse = options.reuse;
  request.worker_limits.answer_s = options.timeout_s;
  request.limits.width = options.width_percent / 100;
  request.limits.block_s = options.block_time_s;
  const double batch_count = static_cast<double>(std::max<size_t>(1, wanted.batches.size()));
  request.limits.time_s =
      options.max_time_s > 0 ? options.max_time_s : options.seconds_per_batch * batch_count;
  request.measure_peaks = !options.no_peaks;
  request.output = options.output.empty() ? model.name + ".xsp" : options.output;
  request.model_layers = layers_of(model);
  request.facts["model"] = model.name;
  request.facts["model_path"] = model.path;
  if (model.bytes > 0) request.facts["model_bytes"] = std::to_string(model.bytes);
  request.facts["xsp_version"] = XSP_VERSION;
  if (options.price > 0) request.facts["gpu.price_per_hour"] = number_text(options.price);
  return request;
}

std::string command_line() {
  std::string text;
  if (std::FILE* file = std::fopen("/proc/self/cmdline", "rb"); file != nullptr) {
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
      text += c == '\0' ? ' ' : static_cast<char>(c);
    }
    std::fclose(file);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace xsp::cli

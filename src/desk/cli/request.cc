#include "desk/cli/request.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "desk/cli/profile_model.h"
#include "desk/cli/replaced.h"
#include "desk/experiment/capabilities.h"
#include "desk/experiment/plan.h"
#include "desk/machine/gpu.h"
#include "desk/machine/machine.h"

namespace xsp::cli {
namespace {

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
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

// Adds a fact "tag.KEY" for each tag.
Status note_tags(const std::vector<std::string>& tags, std::map<std::string, std::string>* facts) {
  for (const std::string& tag : tags) {
    const size_t equal = tag.find('=');
    if (equal == std::string::npos || equal == 0) {
      return usage("--tag '" + tag + "': not KEY=VALUE: give one, e.g. branch=main");
    }
    (*facts)["tag." + tag.substr(0, equal)] = tag.substr(equal + 1);
  }
  return Ok{};
}

Result<experiment::Wanted> parse_wanted(const RequestOptions& options) {
  experiment::Wanted wanted;
  if (!options.levels.empty()) {
    XSP_TRY(wanted.levels, experiment::parse_levels(options.levels));
  }
  if (!options.batch.empty()) {
    XSP_TRY(wanted.batches, experiment::parse_batches(options.batch));
  }
  if (!options.counters.empty()) {
    XSP_TRY(wanted.counters, experiment::parse_counters(options.counters));
  }
  return wanted;
}

// Chooses the device, and plans the runs on it.
Status plan_request(const RequestOptions& options, const experiment::Probe& framework,
                    const experiment::Wanted& wanted, const experiment::Installation& installation,
                    const std::atomic<int>& stop, experiment::Request* request) {
  const machine::Gpu gpu = machine::find_gpu();
  std::string& device = request->worker.device;
  if (options.device.empty())
    device = experiment::default_device(framework, gpu, request->worker.options);
  XSP_CHECK_OK(experiment::check_device(device, gpu));
  const auto collectors = experiment::probe_collectors(installation, device, stop);
  experiment::Capabilities capabilities = experiment::capabilities_of(collectors, device, gpu);
  if (wanted.counters) {
    XSP_CHECK_OK(
        experiment::add_counter_names(installation, *wanted.counters, &capabilities, stop));
  }
  XSP_TRY(request->plan, experiment::make_plan(wanted, capabilities));
  request->monitors = experiment::monitors_of(collectors);
  return Ok{};
}

// A model that wants an image runs in no other, where its framework is another one.
Status check_container(const manifest::Manifest& manifest) {
  if (manifest.container.empty()) return Ok{};
  const auto facts = machine::Machine().facts();
  const auto image = facts.find("container_image");
  if (image != facts.end() && image->second == manifest.container) return Ok{};
  return not_available(manifest.place_of("container") + ": the model runs in the image '" +
                       manifest.container +
                       "', which this is not: run it with 'xsp sweep', which starts it there");
}

// A run's blocks take turns with those of other runs, and an interval needs several of each. There
// are no more than it needs: the first inference of a block is slow after the others' turns, and
// only where it is one of many is it left out as untypical.
void limit_iterations(int most, experiment::Limits* limits) {
  limits->iterations_max = most;
  limits->block_iterations_max =
      std::clamp(most / limits->rounds_min, 1, limits->block_iterations_max);
}

}  // namespace

Result<experiment::Request> make_request(const RequestOptions& options,
                                         const experiment::Installation& installation,
                                         const std::atomic<int>& stop) {
  experiment::Request request;
  // Errors that need no work to find are reported first.
  XSP_TRY(const experiment::Wanted wanted, parse_wanted(options));
  XSP_TRY(request.worker.options, parse_framework_options(options.framework_options));
  if (options.cuda_graph) request.worker.options.emplace_back(experiment::kCudaGraph, "1");
  if (!options.device.empty()) {
    XSP_TRY(request.worker.device, experiment::parse_device(options.device));
  }
  XSP_TRY(Model model, resolve_model(options.model, installation, options.framework));
  if (model.manifest) XSP_CHECK_OK(check_container(*model.manifest));
  std::string name = options.framework.empty() ? model.framework : options.framework;
  if (name.empty() && model.manifest && model.manifest->framework) {
    name = model.manifest->framework->name;
  }
  XSP_TRY(const experiment::Framework framework,
          experiment::choose_framework(installation, name, model.path, stop));
  XSP_CHECK_OK(check_framework(model, *framework.probe));
  const int batch = wanted.batches.empty() ? 1 : wanted.batches.front();
  XSP_CHECK_OK(fit_zoo_model(*framework.probe, batch, &model));
  add_second_file(*framework.probe, &model);
  XSP_CHECK_OK(plan_request(options, *framework.probe, wanted, installation, stop, &request));
  request.worker.program = installation.worker;
  request.worker.adapter = framework.adapter;
  request.worker.rest = framework.probe->rest;
  request.worker.model = model.path;
  request.worker.model_of_batch = model.path_of_batch;
  request.worker.threads = options.threads;
  request.worker.seed = options.seed;
  // Example inputs have one batch size, and the user's own come first.
  request.worker.inputs =
      options.inputs.empty() && options.batch.empty() ? model.inputs : options.inputs;
  request.worker.replay = options.replay;
  request.worker.reuse = options.reuse;
  request.worker_limits.answer_s = options.timeout_s;
  request.limits.width = options.width_percent / 100;
  request.limits.block_s = options.block_time_s;
  if (options.iterations > 0) limit_iterations(options.iterations, &request.limits);
  const double batch_count = static_cast<double>(std::max<size_t>(1, wanted.batches.size()));
  request.limits.time_s =
      options.max_time_s > 0 ? options.max_time_s : options.seconds_per_batch * batch_count;
  request.measure_peaks = !options.no_peaks;
  request.output = options.output.empty() ? model.name + ".xsp" : options.output;
  request.model_layers = layers_of(model);
  request.facts["model"] = model.name;
  request.facts["model_path"] = model.path;
  if (model.bytes > 0) request.facts["model_bytes"] = std::to_string(model.bytes);
  if (model.manifest) {
    request.facts["manifest.name"] = model.manifest->name;
    request.facts["manifest.version"] = model.manifest->version;
    request.facts["manifest.sha256"] = model.manifest->sha256;
  }
  request.facts["xsp_version"] = XSP_VERSION;
  if (options.price > 0) request.facts["gpu.price_per_hour"] = number_text(options.price);
  XSP_CHECK_OK(note_tags(options.tags, &request.facts));
  return request;
}

Result<std::string> replaced_by(const RequestOptions& options, const experiment::Request& request) {
  Place place;
  place.output = request.output;
  place.inputs = {options.model, request.worker.model};
  place.is_forced = options.is_forced;
  for (const std::string& input : options.inputs) {  // name=@file.npy
    const size_t at = input.find("=@");
    if (at != std::string::npos) place.inputs.emplace_back(input.substr(at + 2));
  }
  return replaced_by(place);
}

void add_tags(CLI::App* verb, RequestOptions& options) {
  verb->add_option("--tag", options.tags,
                   "KEY=VALUE, kept in the file as the fact tag.KEY; may be repeated")
      ->expected(1)
      ->take_all();
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

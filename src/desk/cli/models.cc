// xsp models: lists or writes the models that xsp builds itself.
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "desk/cli/models_manifests.h"
#include "desk/cli/numbers.h"
#include "desk/cli/output.h"
#include "desk/cli/verbs.h"
#include "zoo/shared/zoo.h"

namespace xsp::cli {
namespace {

using formats::ValueInfo;
using zoo::ModelDescription;

struct ModelsOptions {
  bool list = false;
  OutputOptions output;
  std::string name;
  std::string path;
  std::string format;  // empty: by the ending of `path`
  uint64_t seed = zoo::kDefaultSeed;
  int64_t batch = 1;
  bool replace = false;
};

std::string dimension_text(const formats::Dimension& dimension) {
  return dimension.value >= 0 ? std::to_string(dimension.value) : dimension.symbol;
}

// Returns text like "input float32[batch,3,224,224]".
std::string signature(const std::vector<ValueInfo>& values) {
  std::string text;
  for (const ValueInfo& value : values) {
    if (!text.empty()) text += " ";
    text += value.name + " " + formats::dtype_name(value.dtype) + "[";
    for (const formats::Dimension& dimension : value.dimensions) {
      if (text.back() != '[') text += ",";
      text += dimension_text(dimension);
    }
    text += "]";
  }
  return text;
}

nlohmann::ordered_json json_of(const std::vector<ValueInfo>& values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ValueInfo& value : values) {
    nlohmann::ordered_json dimensions = nlohmann::ordered_json::array();
    for (const formats::Dimension& dimension : value.dimensions) {
      if (dimension.value >= 0) {
        dimensions.push_back(dimension.value);
      } else {
        dimensions.push_back(dimension.symbol);
      }
    }
    list.push_back({{"name", value.name},
                    {"dtype", formats::dtype_name(value.dtype)},
                    {"dimensions", dimensions}});
  }
  return list;
}

std::string list_as_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ModelDescription& model : zoo::all_models()) {
    list.push_back({{"name", model.name},
                    {"title", model.title},
                    {"task", model.task},
                    {"topology", model.topology},
                    {"parameters", model.parameters},
                    {"macs", model.macs},
                    {"flops", model.flops},
                    {"gflops", static_cast<double>(model.flops) / 1e9},
                    {"file_bytes", model.file_bytes},
                    {"inputs", json_of(model.inputs)},
                    {"outputs", json_of(model.outputs)},
                    {"literature_parameters", model.literature_parameters},
                    {"literature_gmacs", model.literature_gmacs},
                    {"literature", model.literature},
                    {"literature_note", model.literature_note}});
  }
  add_manifests(&list);
  return list.dump(1) + "\n";
}

Status print_list(const OutputOptions& options) {
  warn_about_manifests();
  if (options.format == Format::kJson) return write_stdout(list_as_json());
  Sheet sheet;
  sheet.columns = {{"name", "text", ""},        {"title", "text", ""},  {"task", "text", ""},
                   {"parameters", "count", ""}, {"macs", "count", ""},  {"flops", "flops", ""},
                   {"file_bytes", "bytes", ""}, {"inputs", "text", ""}, {"topology", "text", ""}};
  for (const analyze::Column& column : sheet.columns) {
    sheet.table.columns.push_back({column.name, column.unit == "text" ? "VARCHAR" : "BIGINT"});
  }
  for (const ModelDescription& model : zoo::all_models()) {
    sheet.table.rows.push_back({model.name, model.title, model.task, model.parameters, model.macs,
                                model.flops, static_cast<int64_t>(model.file_bytes),
                                signature(model.inputs), model.topology});
  }
  sheet.view.options = {{"columns", "name,title,task,parameters,flops,file_bytes"}};
  OutputOptions every_row = options;
  every_row.all = true;
  XSP_CHECK_OK(write_stdout(render(sheet, every_row, terminal_of(1)) + "\n"));
  return write_stdout(render(manifests_sheet(), every_row, terminal_of(1)));
}

volatile std::sig_atomic_t interrupted = 0;

// While it exists, the signals that ask to stop are noted and do not end the process, so that no
// partial file remains.
class StopNoted {
 public:
  StopNoted() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    for (size_t i = 0; i < kCount; ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~StopNoted() {
    for (size_t i = 0; i < kCount; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  StopNoted(const StopNoted&) = delete;
  StopNoted& operator=(const StopNoted&) = delete;

 private:
  static constexpr size_t kCount = 3;
  static constexpr int kSignals[kCount] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[kCount] = {};
};

std::string mebibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// Returns the format that is named, or else that of the file's ending.
Result<zoo::ModelFormat> format_of(const ModelsOptions& options) {
  std::string endings;
  for (const zoo::ModelFormat& format : zoo::model_formats()) {
    const bool is_meant = options.format.empty() ? options.path.ends_with(format.ending)
                                                 : options.format == format.name;
    if (is_meant) return format;
    endings += (endings.empty() ? "" : ", ") + std::string(format.ending);
  }
  if (options.path.empty()) return zoo::model_formats().front();
  return usage(options.path + ": no ending of a format that xsp writes (" + endings +
               "): end the name in one of these, or give --format");
}

Status build(const ModelsOptions& options) {
  XSP_TRY(const zoo::ModelFormat format, format_of(options));
  const std::string path = options.path.empty() ? options.name + format.ending : options.path;
  const bool shows_progress = terminal_of(2).is_terminal;
  uint64_t shown_percent = UINT64_MAX;
  uint64_t bytes = 0;
  formats::WriteOptions write;
  write.replace = options.replace;
  write.batch = options.batch;
  if (options.batch != 1 && !format.has_fixed_batch) {
    return usage("--batch " + std::to_string(options.batch) + ": a model in the format " +
                 format.name + " takes any batch size: leave the option out");
  }
  write.progress = [&](uint64_t done, uint64_t total) {
    const uint64_t percent = done * 100 / total;
    if (shows_progress && percent != shown_percent) {
      std::fprintf(stderr, "\r%s: %3d %% of %s", path.c_str(), static_cast<int>(percent),
                   mebibytes(total).c_str());
    }
    shown_percent = percent;
    bytes = total;
    return interrupted == 0;
  };
  const StopNoted stop_noted;
  const Status status = zoo::build_model(options.name, path, options.seed, write, format);
  if (shows_progress && shown_percent != UINT64_MAX) std::fprintf(stderr, "\r\033[K");
  if (!status.ok()) return status;
  const ModelDescription& model = *zoo::find_model(options.name);
  std::fprintf(stderr, "%s: %s, %s, %.2f M parameters, seed %llu\n", path.c_str(),
               model.title.c_str(), mebibytes(bytes).c_str(),
               static_cast<double>(model.parameters) / 1e6,
               static_cast<unsigned long long>(options.seed));
  return Ok{};
}

}  // namespace

void add_models(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<ModelsOptions>();
  CLI::App* verb = app.add_subcommand("models", "List, build, show, check and import models");
  verb->add_flag("--list", options->list, "List the models; the same as `xsp models`");
  add_output_options(*verb, options->output, false);
  verb->footer(
      "True topologies with seeded random weights, as ONNX files: they cost what the real models\n"
      "cost, and their results mean nothing. Flops are those of one inference at batch 1. After\n"
      "them come the manifests: those that xsp has, and those in the folders of XSP_MANIFESTS.\n"
      "\n"
      "Examples:\n"
      "  xsp models\n"
      "  xsp models --list --format json | jq '.[].name'\n"
      "  xsp models build resnet50 -o resnet50.onnx\n"
      "  xsp profile resnet50                      builds it in the cache, and profiles it");
  CLI::App* build_verb = verb->add_subcommand("build", "Write a model as a file");
  build_verb->add_option("NAME", options->name, "Which model; see xsp models --list")
      ->required()
      ->type_name("");
  build_verb->add_option("-o,--output", options->path, "The file; NAME.onnx by default")
      ->type_name("FILE");
  std::vector<std::string> formats;
  for (const zoo::ModelFormat& format : zoo::model_formats()) formats.push_back(format.name);
  build_verb
      ->add_option("--format", options->format,
                   "What to write, by the file's ending by default; caffe, mxnet: two files")
      ->check(CLI::IsMember(formats));
  build_verb->add_option("--seed", options->seed, "Of the weights: the same seed, the same bytes")
      ->type_name("N")
      ->capture_default_str();
  build_verb->add_option("--batch", options->batch, "Of stablehlo, where it is fixed")
      ->check(whole_above_zero())
      ->type_name("N")
      ->capture_default_str();
  build_verb->add_flag("--force", options->replace, "Replace an existing file");
  build_verb->footer(
      "Examples:\n"
      "  xsp models build vgg16\n"
      "  xsp models build bert_base -o /tmp/bert.onnx --seed 7\n"
      "  xsp models build resnet50 --format caffe        resnet50.prototxt and "
      "resnet50.caffemodel");
  const auto finish = [&exit_status](const Status& status) {
    exit_status = status.ok() ? 0 : report(status.error());
  };
  build_verb->callback([options, finish] { finish(build(*options)); });
  add_manifest_verbs(*verb, finish);
  verb->callback([options, finish, verb] {
    if (verb->get_subcommands().empty()) finish(print_list(options->output));
  });
}

}  // namespace xsp::cli

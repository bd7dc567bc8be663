#include "zoo/shared/zoo.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "formats/caffe/writer.h"
#include "formats/mxnet/writer.h"
#include "formats/onnx/shapes.h"
#include "formats/stablehlo/writer.h"
#include "formats/tensorflow/writer.h"
#include "shared/base/cache.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"
#include "zoo/shared/recipe.h"

namespace xsp::zoo {
namespace {

ModelDescription describe(const Recipe& recipe) {
  formats::Builder builder(recipe.name);
  recipe.build(builder);
  const formats::Graph& graph = builder.graph();
  ModelDescription description;
  description.name = recipe.name;
  description.title = recipe.title;
  description.task = recipe.task;
  description.topology = recipe.topology;
  description.inputs = graph.inputs;
  description.outputs = graph.outputs;
  description.literature_parameters = recipe.literature_parameters;
  description.literature_gmacs = recipe.literature_gmacs;
  description.literature = recipe.literature;
  description.literature_note = recipe.literature_note;
  const formats::ParameterCount count = formats::count_parameters(graph);
  description.parameters = count.learned;
  description.stored_floats = count.learned + count.statistics;
  description.file_bytes = formats::written_bytes(graph);
  const Result<formats::KnownValues> shapes = formats::infer_shapes(graph, {{"batch", 1}});
  if (!shapes.ok()) return description;  // a test infers every model's shapes
  for (const formats::Node& node : graph.nodes) {
    const formats::Work work = formats::node_work(node, *shapes);
    description.macs += work.macs;
    description.flops += work.flops;
  }
  return description;
}

Error unknown_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelDescription& model : all_models()) names.push_back(model.name);
  return usage("model '" + name +
               "': unknown: " + did_you_mean(name, names, "xsp models --list shows them all"));
}

}  // namespace

const std::vector<ModelDescription>& all_models() {
  static const std::vector<ModelDescription> models = [] {
    std::vector<ModelDescription> list;
    for (const Recipe& recipe : all_recipes()) list.push_back(describe(recipe));
    return list;
  }();
  return models;
}

const ModelDescription* find_model(const std::string& name) {
  for (const ModelDescription& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

Status check_name(const std::string& name) {
  return find_model(name) != nullptr ? Status(Ok{}) : Status(unknown_model(name));
}

const std::vector<ModelFormat>& model_formats() {
  static const std::vector<ModelFormat> formats = {
      {"onnx", ".onnx", formats::write_graph},
      {"caffe", ".caffemodel", formats::write_caffe},
      {"mxnet", "-symbol.json", formats::write_mxnet},
      {"tensorflow", ".pb", formats::write_tensorflow},
      {"stablehlo", ".mlir", formats::write_stablehlo, true},
  };
  return formats;
}

Status build_model(const std::string& name, const std::string& path, uint64_t seed,
                   const formats::WriteOptions& options, const ModelFormat& format) {
  for (const Recipe& recipe : all_recipes()) {
    if (recipe.name != name) continue;
    formats::Builder builder(recipe.name);
    recipe.build(builder);
    const formats::Graph& graph = builder.graph();
    const formats::WeightSource weights = [&](size_t index, uint64_t offset,
                                              std::span<uint8_t> out) {
      formats::fill_weights(builder.distributions()[index],
                            formats::tensor_seed(seed, graph.initializers[index].name),
                            offset / sizeof(float), out.size() / sizeof(float),
                            reinterpret_cast<float*>(out.data()));
    };
    return format.write(graph, weights, path, options);
  }
  return unknown_model(name);
}

Result<std::string> cached_model(const std::string& name,
                                 const std::function<bool(uint64_t, uint64_t)>& progress) {
  XSP_CHECK_OK(check_name(name));
  const ModelDescription* model = find_model(name);
  XSP_TRY(const std::filesystem::path folder, make_cache_folder("models"));
  const std::string path = folder.string() + "/" + name + "-" + std::to_string(kDefaultSeed) + "-" +
                           std::to_string(kBuilderVersion) + ".onnx";
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 &&
      static_cast<uint64_t>(status.st_size) == model->file_bytes) {
    mark_used(path);
    return path;
  }
  formats::WriteOptions options;
  options.replace = true;
  options.progress = progress;
  XSP_CHECK_OK(build_model(name, path, kDefaultSeed, options));
  return path;
}

Result<std::string> cached_model_as(const std::string& name,
                                    const std::vector<std::string>& endings, int64_t batch) {
  namespace fs = std::filesystem;
  const auto opens = [&endings](const ModelFormat& format) {
    return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) {
      return std::string_view(format.ending).ends_with(ending);
    });
  };
  const std::vector<ModelFormat>& formats = model_formats();
  const auto format = std::find_if(formats.begin(), formats.end(), opens);
  if (format == formats.end()) {
    std::vector<std::string> written;
    for (const ModelFormat& one : formats) written.push_back(one.ending);
    return not_available(name + ": the framework opens " + joined(endings) +
                         ", and the zoo writes " + joined(written) +
                         ": name another framework, or a file of the model");
  }
  if (format == formats.begin()) return cached_model(name);
  XSP_TRY(const fs::path cache, make_cache_folder("models"));
  formats::WriteOptions options;
  options.replace = true;
  if (format->has_fixed_batch) options.batch = batch;
  const fs::path folder = cache.string() + "/" + name + "-" + std::to_string(kDefaultSeed) + "-" +
                          std::to_string(kBuilderVersion) + "-" + format->name +
                          (options.batch == 1 ? "" : "-b" + std::to_string(options.batch));
  const std::string path = (folder / (name + format->ending)).string();
  std::error_code error;
  if (fs::exists(folder, error)) {
    mark_used(path);
    return path;
  }
  // All files of the model appear at once.
  const fs::path part = folder.string() + "." + std::to_string(::getpid()) + ".part";
  fs::create_directories(part, error);
  Status built =
      build_model(name, (part / (name + format->ending)).string(), kDefaultSeed, options, *format);
  if (built.ok()) fs::rename(part, folder, error);
  const bool is_there = fs::exists(folder, error);  // perhaps another process was first
  fs::remove_all(part, error);
  if (!built.ok()) return built.error();
  if (!is_there) return failed(folder.string() + ": cannot be made: see whether the disk is full");
  return path;
}

}  // namespace xsp::zoo

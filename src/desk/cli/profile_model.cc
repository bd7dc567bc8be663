#include "desk/cli/profile_model.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "desk/experiment/local.h"
#include "desk/experiment/model_files.h"
#include "desk/manifest/resolve.h"
#include "desk/manifest/semver.h"
#include "desk/manifest/shipped.h"
#include "formats/onnx/reader.h"
#include "shared/base/nearest.h"
#include "zoo/shared/zoo.h"

namespace xsp::cli {
namespace {

namespace fs = std::filesystem;

uint64_t bytes_in(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error)) bytes += it->file_size(error);
  }
  return bytes;
}

Result<Model> model_at(const std::string& word, const std::string& path, bool is_known);

// Returns whether an adapter builds a model from the word itself: "fake:layers=3".
bool is_description(const std::string& word, const experiment::Installation& installation) {
  const size_t colon = word.find(':');
  if (colon == std::string::npos) return false;
  const std::vector<std::string> names = experiment::framework_names(installation);
  return std::find(names.begin(), names.end(), word.substr(0, colon)) != names.end();
}

}  // namespace

Error unknown_model(const std::string& word, const std::string& why) {
  std::vector<std::string> names;
  for (const zoo::ModelDescription& model : zoo::all_models()) names.push_back(model.name);
  for (const manifest::Found& found : manifest::all_manifests()) {
    if (found.manifest.ok()) names.push_back(found.manifest->name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return failed(word + ": cannot be opened: " + why + ": " +
                did_you_mean(word, names, "name a model's file, or one of 'xsp models --list'"));
}

Status check_model_word(const std::string& word, const experiment::Installation& installation) {
  if (is_description(word, installation)) return Ok{};
  if (experiment::is_local_model(experiment::local_frameworks(installation.adapters), word)) {
    return Ok{};
  }
  XSP_TRY(const auto manifest, manifest_of(word));
  if (manifest || zoo::find_model(word) != nullptr) return Ok{};
  struct stat facts {};
  if (::stat(word.c_str(), &facts) != 0) return unknown_model(word, std::strerror(errno));
  return Ok{};
}

Result<std::optional<manifest::Manifest>> manifest_of(const std::string& word) {
  if (manifest::is_manifest(word)) {
    XSP_TRY(manifest::Manifest read, manifest::read_manifest(word));
    return std::optional(std::move(read));
  }
  std::error_code error;
  if (zoo::find_model(word) != nullptr || fs::exists(word, error)) {
    return std::optional<manifest::Manifest>();
  }
  auto found = manifest::find_manifest(word);
  if (!found.ok()) return std::optional<manifest::Manifest>();
  return std::optional(std::move(*found));
}

Result<Model> resolve_model(const std::string& word, const experiment::Installation& installation,
                            const std::string& wanted) {
  if (is_description(word, installation)) {
    return Model{word.substr(0, word.find(':')), true, word, 0, {}, {}, {}, {}};
  }
  const auto locals = experiment::local_frameworks(installation.adapters);
  if (experiment::is_local_model(locals, word)) {
    XSP_TRY(experiment::LocalModel made, experiment::make_local_model(locals, word, wanted));
    // "net.py:build" is named net, and "torchvision/vgg16" vgg16.
    XSP_TRY(Model model, model_at(fs::path(word).stem().string(), made.file, true));
    model.framework = std::move(made.framework);
    model.inputs = std::move(made.inputs);
    return model;
  }
  XSP_TRY(std::optional<manifest::Manifest> manifest, manifest_of(word));
  if (manifest) {
    if (!wanted.empty()) manifest->model.framework = wanted;
    const auto say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
    XSP_TRY(const std::string path, manifest::resolve_model(*manifest, say));
    XSP_TRY(Model model, model_at(manifest->name, path, true));
    model.manifest = std::move(manifest);
    return model;
  }
  std::string path = word;
  const bool is_known = zoo::find_model(word) != nullptr;
  if (is_known) {
    XSP_TRY(path, zoo::cached_model(word));
  }
  return model_at(word, path, is_known);
}

namespace {

// `is_known`: the word is the model's name.
Result<Model> model_at(const std::string& word, const std::string& path, bool is_known) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    return unknown_model(word, std::strerror(errno));
  }
  if (S_ISDIR(facts.st_mode)) {  // some frameworks write a model as several files
    const fs::path given(path);
    const fs::path folder = given.has_filename() ? given : given.parent_path();
    return Model{is_known ? word : folder.stem().string(),
                 is_known,
                 folder,
                 bytes_in(folder),
                 {},
                 {},
                 {},
                 {}};
  }
  if (!S_ISREG(facts.st_mode)) {
    return failed(word + ": not a regular file: name a model's file or folder");
  }
  return Model{is_known ? word : fs::path(path).stem().string(),
               is_known,
               path,
               static_cast<uint64_t>(facts.st_size),
               {},
               {},
               {},
               {}};
}

}  // namespace

Status fit_zoo_model(const experiment::Probe& framework, int batch, Model* model) {
  std::string name;
  if (model->manifest) {
    if (model->manifest->model.kind == manifest::Source::Kind::kZoo) {
      name = model->manifest->model.place;
    }
  } else if (model->is_named && zoo::find_model(model->name) != nullptr) {
    name = model->name;
  }
  const std::string ending = fs::path(model->path).extension().string();
  const auto& formats = framework.formats;
  if (name.empty() || std::find(formats.begin(), formats.end(), ending) != formats.end()) {
    return Ok{};
  }
  model->path_of_batch = [name, formats](int wanted) {
    return zoo::cached_model_as(name, formats, wanted);
  };
  XSP_TRY(model->path, model->path_of_batch(batch));
  std::error_code error;
  model->bytes = fs::file_size(model->path, error);
  return Ok{};
}

void add_second_file(const experiment::Probe& framework, Model* model) {
  std::error_code error;
  if (!fs::is_regular_file(model->path, error)) return;
  const auto pair = experiment::pair_of(model->path, framework.pairs);
  if (!pair) return;
  if (!model->is_named) model->name = pair->stem;
  const uintmax_t bytes = fs::file_size(pair->other, error);
  if (!error) model->bytes += bytes;
}

Status check_framework(const Model& model, const experiment::Probe& framework) {
  if (!model.manifest || !model.manifest->framework) return Ok{};
  const manifest::Framework& wanted = *model.manifest->framework;
  if (wanted.name != framework.name || wanted.version.empty()) return Ok{};
  XSP_TRY(const manifest::Constraint constraint, manifest::Constraint::parse(wanted.version));
  const auto version = manifest::parse_framework_version(framework.version);
  if (!version || constraint.is_satisfied_by(*version)) return Ok{};
  return not_available(model.manifest->place_of("framework.version") + ": " + wanted.name + " " +
                       framework.version + " does not satisfy '" + wanted.version +
                       "': install a version that does, or change the manifest");
}

std::vector<std::pair<std::string, std::string>> layers_of(const Model& model) {
  std::vector<std::pair<std::string, std::string>> layers;
  if (fs::path(model.path).extension() != ".onnx") return layers;
  const auto graph = formats::read_graph(model.path);
  if (!graph.ok()) return layers;
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    layers.emplace_back(formats::node_label(*graph, i), graph->nodes[i].op_type);
  }
  return layers;
}

}  // namespace xsp::cli

#include "desk/cli/models_manifests.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <set>

#include "desk/cli/manifest_faults.h"
#include "desk/manifest/import.h"
#include "desk/manifest/resolve.h"
#include "desk/manifest/shipped.h"
#include "desk/manifest/yaml.h"
#include "pipelines/shared/step.h"
#include "shared/base/words.h"
#include "zoo/shared/zoo.h"

namespace xsp::cli {
namespace {

using manifest::Manifest;
using Json = nlohmann::ordered_json;

struct ModelsManifestsOptions {
  std::string name;
  std::vector<std::string> files;
  std::string output;
  bool replace = false;
  OutputOptions format;
};

bool is_of_zoo(const Manifest& manifest) {
  return manifest.model.kind == manifest::Source::Kind::kZoo &&
         manifest.model.place == manifest.name && zoo::find_model(manifest.name) != nullptr;
}

std::string framework_text(const Manifest& manifest) {
  if (!manifest.framework) return "any";
  const manifest::Framework& framework = *manifest.framework;
  return framework.name + (framework.version.empty() ? "" : " " + framework.version);
}

// Returns the model's size: of the zoo's own, that of the graph that it builds.
std::optional<manifest::Size> size_of(const Manifest& manifest) {
  if (manifest.model.kind != manifest::Source::Kind::kZoo) return manifest.size;
  const zoo::ModelDescription* built = zoo::find_model(manifest.model.place);
  if (built == nullptr) return manifest.size;
  return manifest::Size{built->parameters, built->macs};
}

std::optional<manifest::Literature> literature_of(const Manifest& manifest) {
  if (manifest.model.kind != manifest::Source::Kind::kZoo) return manifest.literature;
  const zoo::ModelDescription* built = zoo::find_model(manifest.model.place);
  if (built == nullptr) return manifest.literature;
  return manifest::Literature{built->literature_parameters, built->literature_gmacs,
                              built->literature, built->literature_note};
}

// Writes the literature's figures, which models without a published size lack.
std::string literature_text(const manifest::Literature& literature) {
  std::vector<std::string> parts;
  if (literature.parameters > 0) {
    parts.push_back(std::to_string(literature.parameters) + " parameters");
  }
  if (literature.gmacs > 0) parts.push_back(fmt::format("{:.6g} G MACs", literature.gmacs));
  return joined(parts) + (parts.empty() ? "" : ": ") + literature.source +
         (literature.note.empty() ? "" : " (" + literature.note + ")");
}

void add_size(const Manifest& manifest, Json* json) {
  if (const auto size = size_of(manifest)) {
    (*json)["parameters"] = size->parameters;
    if (size->macs > 0) (*json)["macs"] = size->macs;
  }
  if (const auto literature = literature_of(manifest)) {
    (*json)["literature_parameters"] = literature->parameters;
    (*json)["literature_gmacs"] = literature->gmacs;
    (*json)["literature"] = literature->source;
    (*json)["literature_note"] = literature->note;
  }
}

void add_facts(const Manifest& manifest, Json* json) {
  (*json)["version"] = manifest.version;
  (*json)["framework"] = framework_text(manifest);
  (*json)["source"] = source_text(manifest.model);
  (*json)["manifest"] = manifest.file;
}

std::string step_text(const manifest::Step& step) {
  std::vector<std::string> params;
  for (const auto& [key, value] : step.params) params.push_back(key + "=" + value);
  for (const auto& [key, source] : step.files) params.push_back(key + "=" + source_text(source));
  return step.name + (params.empty() ? "" : "(" + joined(params) + ")");
}

std::string tensor_text(const manifest::Tensor& tensor) {
  std::string text =
      tensor.pipeline.name + " " + tensor.dtype + "[" + joined(tensor.dimensions, ",") + "]";
  if (!tensor.pipeline.from.empty()) text += " from " + tensor.pipeline.from;
  std::vector<std::string> steps;
  for (const manifest::Step& step : tensor.pipeline.steps) steps.push_back(step_text(step));
  return text + (steps.empty() ? "" : ": " + joined(steps, " > "));
}

// Returns the names of the steps that xsp does not have.
std::vector<std::string> unknown_steps(const Manifest& manifest) {
  std::set<std::string> known, unknown;
  for (const pipelines::StepKind& kind : pipelines::all_steps()) known.insert(kind.name);
  for (const auto* side : {&manifest.inputs, &manifest.outputs}) {
    for (const manifest::Tensor& tensor : *side) {
      for (const manifest::Step& step : tensor.pipeline.steps) {
        if (known.count(step.name) == 0) unknown.insert(step.name);
      }
    }
  }
  return {unknown.begin(), unknown.end()};
}

// Returns the fields that a person reads, in the order of the manifest.
std::vector<std::pair<std::string, std::string>> rows_of(const Manifest& manifest) {
  std::vector<std::pair<std::string, std::string>> rows = {{"name", manifest.name},
                                                           {"version", manifest.version},
                                                           {"task", manifest.task},
                                                           {"license", manifest.license},
                                                           {"description", manifest.description},
                                                           {"framework", framework_text(manifest)},
                                                           {"model", source_text(manifest.model)},
                                                           {"sha256", manifest.model.sha256}};
  if (const auto size = size_of(manifest)) {
    rows.emplace_back("parameters", std::to_string(size->parameters));
    if (size->macs > 0) {
      const double giga = static_cast<double>(size->macs) / 1e9;
      rows.emplace_back("macs", fmt::format("{} at batch 1, {:.4g} G flops of convolutions and "
                                            "matrix products",
                                            size->macs, 2 * giga));
    }
  }
  if (const auto literature = literature_of(manifest)) {
    rows.emplace_back("literature", literature_text(*literature));
  }
  if (manifest.hardware) rows.emplace_back("device", joined(manifest.hardware->devices));
  if (!manifest.container.empty()) rows.emplace_back("container", manifest.container);
  for (const manifest::Tensor& input : manifest.inputs) {
    rows.emplace_back("input", tensor_text(input));
  }
  for (const manifest::Tensor& output : manifest.outputs) {
    rows.emplace_back("output", tensor_text(output));
  }
  if (const auto unknown = unknown_steps(manifest); !unknown.empty()) {
    rows.emplace_back("steps", "xsp predict cannot run it yet: it has no " + joined(unknown));
  }
  if (manifest.dataset) rows.emplace_back("dataset", manifest.dataset->name);
  for (const auto& [metric, value] : manifest.expect) {
    char text[96];
    std::snprintf(text, sizeof text, "%g, may miss by %g", value, manifest.tolerance);
    rows.emplace_back("expect " + metric, text);
  }
  for (const auto& [key, value] : manifest.attributes) rows.emplace_back(key, value);
  rows.emplace_back("file", manifest.file);
  return rows;
}

Status show(const ModelsManifestsOptions& options) {
  XSP_TRY(const Manifest manifest, manifest::is_manifest(options.name)
                                       ? manifest::read_manifest(options.name)
                                       : manifest::find_manifest(options.name));
  Sheet sheet;
  sheet.columns = {{"field", "text", ""}, {"value", "text", ""}};
  sheet.table.columns = {{"field", "VARCHAR"}, {"value", "VARCHAR"}};
  for (auto& [field, value] : rows_of(manifest)) {
    if (!value.empty()) sheet.table.rows.push_back({field, value});
  }
  OutputOptions every_row = options.format;
  every_row.all = true;
  return write_stdout(render(sheet, every_row, terminal_of(1)));
}

// Prints every fault of every file, not only the first.
Status check(const ModelsManifestsOptions& options) {
  size_t faults = 0;
  for (const std::string& file : options.files) {
    XSP_TRY(const std::string text, manifest::read_small_file(file));
    XSP_TRY(const auto found, manifest::find_faults(text, file));
    std::vector<std::string> lines;
    for (const manifest::Fault& fault : found) {
      lines.push_back(manifest::fault_text(fault, file));
    }
    if (found.empty()) {
      XSP_TRY(const std::vector<Manifest> manifests, manifest::parse_manifests(text, file));
      lines = faults_of(manifests);
    }
    for (const std::string& line : lines) XSP_CHECK_OK(write_stdout(line + "\n"));
    faults += lines.size();
  }
  if (faults == 0) return Ok{};
  return corrupt(std::to_string(faults) + (faults == 1 ? " fault" : " faults") +
                 ": the manifest is not valid: correct the lines above");
}

Status import(const ModelsManifestsOptions& options) {
  XSP_TRY(const std::string text, manifest::read_small_file(options.name));
  XSP_TRY(const manifest::Imported imported, manifest::import_dlmodel(text, options.name));
  for (const std::string& note : imported.notes) std::fprintf(stderr, "%s\n", note.c_str());
  if (options.output.empty()) return write_stdout(imported.text);
  std::FILE* file = std::fopen(options.output.c_str(), options.replace ? "we" : "wxe");
  if (file == nullptr) {
    return failed(options.output + ": cannot be written: is it there already? --force replaces it");
  }
  const bool is_whole = std::fputs(imported.text.c_str(), file) >= 0;
  if (std::fclose(file) != 0 || !is_whole) {
    return failed(options.output + ": cannot be written: is the disk full?");
  }
  return Ok{};
}

}  // namespace

std::string source_text(const manifest::Source& source) {
  switch (source.kind) {
    case manifest::Source::Kind::kPath:
      return "path " + source.place;
    case manifest::Source::Kind::kUrl:
      return source.place;
    case manifest::Source::Kind::kPackage:
      return "package " + source.place + " " + source.version;
    case manifest::Source::Kind::kZoo:
      return "zoo " + source.place;
    case manifest::Source::Kind::kExport:
      return "export " + source.place;
  }
  return {};
}

void add_manifests(Json* list) {
  for (const manifest::Found& found : manifest::all_manifests()) {
    if (!found.manifest.ok()) continue;
    const Manifest& manifest = *found.manifest;
    if (is_of_zoo(manifest)) {
      for (Json& model : *list) {
        if (model["name"] == manifest.name) add_facts(manifest, &model);
      }
      continue;
    }
    Json model = {
        {"name", manifest.name}, {"title", manifest.description}, {"task", manifest.task}};
    add_size(manifest, &model);
    add_facts(manifest, &model);
    list->push_back(std::move(model));
  }
}

Sheet manifests_sheet() {
  Sheet sheet;
  sheet.columns = {{"name", "text", ""},      {"version", "text", ""}, {"task", "text", ""},
                   {"framework", "text", ""}, {"source", "text", ""},  {"parameters", "count", ""},
                   {"macs", "count", ""},     {"manifest", "text", ""}};
  for (const analyze::Column& column : sheet.columns) {
    sheet.table.columns.push_back({column.name, column.unit == "text" ? "VARCHAR" : "BIGINT"});
  }
  for (const manifest::Found& found : manifest::all_manifests()) {
    if (!found.manifest.ok() || is_of_zoo(*found.manifest)) continue;
    const Manifest& manifest = *found.manifest;
    const auto size = size_of(manifest);
    const auto cell = [](int64_t count) {
      return count > 0 ? store::Value(count) : store::Value();
    };
    sheet.table.rows.push_back({manifest.name, manifest.version, manifest.task,
                                framework_text(manifest), source_text(manifest.model),
                                cell(size ? size->parameters : 0), cell(size ? size->macs : 0),
                                manifest.file});
  }
  sheet.view.options = {{"columns", "name,version,task,framework,source,parameters,macs"}};
  return sheet;
}

void warn_about_manifests() {
  for (const manifest::Found& found : manifest::all_manifests()) {
    if (found.manifest.ok()) continue;
    std::fprintf(stderr, "warning: %s\n", found.manifest.error().text.c_str());
  }
}

void add_manifest_verbs(CLI::App& models, const std::function<void(const Status&)>& finish) {
  auto options = std::make_shared<ModelsManifestsOptions>();
  CLI::App* show_verb = models.add_subcommand("show", "Show what a manifest says");
  show_verb->add_option("NAME", options->name, "A manifest's name, NAME@CONSTRAINT, or its file")
      ->required()
      ->type_name("");
  add_output_options(*show_verb, options->format, false);
  show_verb->footer(
      "Examples:\n"
      "  xsp models show magika\n"
      "  xsp models show 'magika@^1.0'\n"
      "  xsp models show ./my.yaml --format json");
  show_verb->callback([options, finish] { finish(show(*options)); });

  CLI::App* check_verb = models.add_subcommand("check", "Check manifests; fetches nothing");
  check_verb->add_option("FILE", options->files, "Manifests")->required()->type_name("");
  check_verb->footer(
      "Prints a line for each fault: file, line, field, what is wrong, what would be right. It\n"
      "finds what would stop xsp predict or xsp profile later: a file that is not there, a model\n"
      "of the zoo, a recipe, a framework or a step that does not exist, steps that do not fit, "
      "and\n"
      "tensors that differ from the model's own, if its file is here or the zoo builds it.\n"
      "\n"
      "Examples:\n"
      "  xsp models check my.yaml");
  check_verb->callback([options, finish] { finish(check(*options)); });

  CLI::App* import_verb =
      models.add_subcommand("import", "Make a manifest of an older one (dlmodel)");
  import_verb->add_option("FILE", options->name, "The older manifest")->required()->type_name("");
  import_verb->add_option("-o,--output", options->output, "The file; else standard output")
      ->type_name("FILE");
  import_verb->add_flag("--force", options->replace, "Replace an existing file");
  import_verb->footer(
      "Says on standard error what has no counterpart and is left out.\n"
      "\n"
      "Examples:\n"
      "  xsp models import BVLC_AlexNet.yml -o alexnet.yaml");
  import_verb->callback([options, finish] { finish(import(*options)); });
}

}  // namespace xsp::cli

#include "desk/manifest/manifest.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "desk/manifest/semver.h"
#include "desk/manifest/sha256.h"
#include "desk/manifest/yaml.h"
#include "shared/base/words.h"

namespace xsp::manifest {
namespace {

constexpr std::string_view kFamily = "models";
// A model is a copy of all that the file's models share.
constexpr size_t kFamilyMax = 200;

constexpr std::pair<const char*, Source::Kind> kKinds[] = {{"path", Source::Kind::kPath},
                                                           {"url", Source::Kind::kUrl},
                                                           {"package", Source::Kind::kPackage},
                                                           {"zoo", Source::Kind::kZoo},
                                                           {"export", Source::Kind::kExport}};

bool has_source(const Node& node) {
  for (const auto& [key, kind] : kKinds) {
    if (node.find(key) != nullptr) return true;
  }
  return false;
}

Source read_source(const Node& node) {
  Source source;
  source.line = node.line;
  for (const auto& [key, kind] : kKinds) {
    const Node* place = node.find(key);
    if (place == nullptr) continue;
    source.kind = kind;
    source.line = place->line;
    if (place->is_map()) {
      source.place = place->text_of("name");
      source.version = place->text_of("version");
      source.member = place->text_of("file");
    } else {
      source.place = place->text;
    }
  }
  source.sha256 = node.text_of("sha256");
  return source;
}

std::vector<std::string> read_texts(const Node* node) {
  std::vector<std::string> texts;
  if (node == nullptr) return texts;
  if (node->is_scalar()) texts.push_back(node->text);
  for (const Node& item : node->items) texts.push_back(item.text);
  return texts;
}

// A step is `NAME`, `NAME: {parameter: value}`, or `NAME: VALUE` for its parameter `value` alone.
Step read_step(const Node& node) {
  Step step;
  step.line = node.line;
  if (node.is_scalar()) step.name = node.text;
  if (!node.is_map() || node.keys.empty()) return step;
  step.name = node.keys[0].text;
  const Node& params = node.items[0];
  if (params.is_scalar()) step.params["value"] = params.text;
  for (size_t i = 0; i < params.keys.size(); ++i) {
    const std::string& key = params.keys[i].text;
    const Node& value = params.items[i];
    if (value.is_map()) {
      step.files[key] = read_source(value);
    } else {
      step.params[key] = joined(read_texts(&value), ",");
    }
  }
  return step;
}

Labels read_labels(const Node& node) {
  Labels labels;
  if (node.is_map()) {
    if (has_source(node)) labels.source = read_source(node);
    labels.metadata = node.text_of("metadata");
    labels.key = node.text_of("key");
  } else {
    labels.names = read_texts(&node);
  }
  return labels;
}

Tensor read_tensor(const Node& node) {
  Tensor tensor;
  tensor.dtype = node.text_of("dtype");
  tensor.layout = node.text_of("layout");
  tensor.dimensions = read_texts(node.find("dimensions"));
  tensor.pipeline.name = node.text_of("name");
  tensor.pipeline.from = node.text_of("from");
  tensor.pipeline.line = node.line;
  if (const Node* labels = node.find("labels")) tensor.labels = read_labels(*labels);
  if (const Node* steps = node.find("steps")) {
    for (const Node& step : steps->items) tensor.pipeline.steps.push_back(read_step(step));
  }
  return tensor;
}

// Returns the bytes of "8GiB", "512MiB" or "1000"; the schema has checked the text.
uint64_t bytes_of(const std::string& text) {
  constexpr std::pair<const char*, int> kUnits[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  const double number = std::strtod(text.c_str(), nullptr);
  for (const auto& [unit, shift] : kUnits) {
    if (text.ends_with(unit)) return static_cast<uint64_t>(std::ldexp(number, shift));
  }
  return static_cast<uint64_t>(number);
}

void read_expect(const Node& node, Manifest* manifest) {
  for (size_t i = 0; i < node.keys.size(); ++i) {
    const double value = node.items[i].number().value_or(0);
    if (node.keys[i].text == "tolerance") {
      manifest->tolerance = value;
    } else {
      manifest->expect[node.keys[i].text] = value;
    }
  }
}

// Writes a value as one line: a list as "a, b", a map as "k: v, ...".
std::string flat(const Node& node) {
  if (node.is_scalar()) return node.text;
  std::vector<std::string> parts;
  for (size_t i = 0; i < node.items.size(); ++i) {
    parts.push_back((node.is_map() ? node.keys[i].text + ": " : "") + flat(node.items[i]));
  }
  return joined(parts);
}

void note_lines(const Node& node, const std::string& field, Manifest* manifest) {
  for (size_t i = 0; i < node.items.size(); ++i) {
    std::string name = field;
    if (node.is_list()) {
      name += "[" + std::to_string(i) + "]";
    } else {
      name += (field.empty() ? "" : ".") + node.keys[i].text;
    }
    manifest->lines[name] = node.is_map() ? node.keys[i].line : node.items[i].line;
    note_lines(node.items[i], name, manifest);
  }
}

// Checks what a schema cannot say. The tree satisfies the schema.
std::vector<Fault> check_meaning(const Node& root) {
  std::vector<Fault> faults;
  const Node* version = root.find("version");
  if (!parse_version(version->text)) {
    faults.push_back({version->line, "version",
                      "'" + version->text + "' is not a semantic version: write one like 1.0.3"});
  }
  const Node* framework = root.find("framework");
  const Node* wanted = framework != nullptr ? framework->find("version") : nullptr;
  if (wanted != nullptr) {
    const auto constraint = Constraint::parse(wanted->text);
    if (!constraint.ok()) {
      faults.push_back({wanted->line, "framework.version", constraint.error().text});
    }
  }
  for (const char* side : {"inputs", "outputs"}) {
    const Node* tensors = root.find(side);
    if (tensors == nullptr) continue;
    std::map<std::string, int> seen;
    for (size_t i = 0; i < tensors->items.size(); ++i) {
      const Node* name = tensors->items[i].find("name");
      const auto [first, is_new] = seen.emplace(name->text, name->line);
      if (is_new) continue;
      faults.push_back({name->line, std::string(side) + "[" + std::to_string(i) + "].name",
                        "'" + name->text + "' stands already in line " +
                            std::to_string(first->second) + ": give each tensor once"});
    }
  }
  return faults;
}

std::vector<Fault> faults_of(const Node& root) {
  std::vector<Fault> faults = check(root, manifest_schema());
  return faults.empty() ? check_meaning(root) : faults;
}

Size read_size(const Node& node) {
  const auto count = [&node](const char* key) {
    const Node* found = node.find(key);
    return found != nullptr ? static_cast<int64_t>(found->number().value_or(0)) : 0;
  };
  return {count("parameters"), count("macs")};
}

Literature read_literature(const Node& node) {
  const Node* gmacs = node.find("gmacs");
  return {read_size(node).parameters, gmacs != nullptr ? gmacs->number().value_or(0) : 0,
          node.text_of("source"), node.text_of("note")};
}

// The tree satisfies the schema.
Manifest read_tree(const Node& root, const std::string& file, const std::string& sha256) {
  Manifest manifest;
  manifest.file = file;
  manifest.sha256 = sha256;
  manifest.name = root.text_of("name");
  manifest.version = root.text_of("version");
  manifest.task = root.text_of("task");
  manifest.license = root.text_of("license");
  manifest.description = root.text_of("description");
  note_lines(root, "", &manifest);
  if (const Node* node = root.find("framework")) {
    manifest.framework = Framework{node->text_of("name"), node->text_of("version")};
  }
  if (const Node* node = root.find("model")) manifest.model = read_source(*node);
  if (manifest.framework) manifest.model.framework = manifest.framework->name;
  if (const Node* node = root.find("hardware")) {
    manifest.hardware = Hardware{read_texts(node->find("device")), read_texts(node->find("arch")),
                                 node->text_of("gpu"), bytes_of(node->text_of("memory"))};
  }
  manifest.container = root.text_of("container");
  if (const Node* node = root.find("inputs")) {
    for (const Node& item : node->items) manifest.inputs.push_back(read_tensor(item));
  }
  if (const Node* node = root.find("outputs")) {
    for (const Node& item : node->items) manifest.outputs.push_back(read_tensor(item));
  }
  if (const Node* node = root.find("dataset")) {
    manifest.dataset = Dataset{node->text_of("name"), node->text_of("version"),
                               node->text_of("split"), node->text_of("sha256")};
  }
  if (const Node* node = root.find("expect")) read_expect(*node, &manifest);
  if (const Node* node = root.find("size")) manifest.size = read_size(*node);
  if (const Node* node = root.find("literature")) manifest.literature = read_literature(*node);
  if (const Node* node = root.find("attributes")) {
    for (size_t i = 0; i < node->keys.size(); ++i) {
      manifest.attributes.emplace_back(node->keys[i].text, flat(node->items[i]));
    }
  }
  return manifest;
}

// Returns the file's tree without the list of models, with the fields of one of them.
Node member_of(const Node& root, const Node& own) {
  Node tree = own;
  for (size_t i = 0; i < root.keys.size(); ++i) {
    if (root.keys[i].text == kFamily || own.find(root.keys[i].text) != nullptr) continue;
    tree.keys.push_back(root.keys[i]);
    tree.items.push_back(root.items[i]);
  }
  return tree;
}

// Returns the faults of a list of models itself.
std::vector<Fault> check_family(const Node& models) {
  const std::string field(kFamily);
  if (!models.is_list() || models.items.empty() || models.items.size() > kFamilyMax) {
    return {{models.line, field,
             "it is not a list of 1 to " + std::to_string(kFamilyMax) +
                 " models: write one like [{name: resnet34, model: {zoo: resnet34}}]"}};
  }
  std::vector<Fault> faults;
  std::map<std::string, int> seen;
  for (size_t i = 0; i < models.items.size(); ++i) {
    const Node& own = models.items[i];
    const std::string item = field + "[" + std::to_string(i) + "]";
    if (!own.is_map() || own.find("name") == nullptr) {
      faults.push_back({own.line, item, "it has no name: write one like {name: resnet34}"});
      continue;
    }
    if (const Node* inner = own.find(kFamily)) {
      faults.push_back(
          {inner->line, item + "." + field,
           "a model of a family has no models of its own: list them all in the file's"});
      continue;
    }
    const auto [first, is_new] = seen.emplace(own.text_of("name"), own.line);
    if (is_new) continue;
    faults.push_back({own.line, item + ".name",
                      "'" + first->first + "' stands already in line " +
                          std::to_string(first->second) + ": give each model a name of its own"});
  }
  return faults;
}

// Calls `use` with the tree of each manifest, or returns the faults of the list.
std::vector<Fault> each_tree(const Node& root, const std::function<void(const Node&)>& use) {
  const Node* models = root.find(kFamily);
  if (models == nullptr) {
    use(root);
    return {};
  }
  std::vector<Fault> faults = check_family(*models);
  if (!faults.empty()) return faults;
  for (const Node& own : models->items) use(member_of(root, own));
  return {};
}

// A fault of what all models share is told once.
std::vector<Fault> file_faults(const Node& root) {
  std::vector<Fault> faults;
  const std::vector<Fault> of_list = each_tree(root, [&faults](const Node& tree) {
    for (Fault& fault : faults_of(tree)) {
      const bool is_told = std::any_of(faults.begin(), faults.end(), [&fault](const Fault& told) {
        return told.line == fault.line && told.field == fault.field && told.text == fault.text;
      });
      if (!is_told) faults.push_back(std::move(fault));
    }
  });
  faults.insert(faults.end(), of_list.begin(), of_list.end());
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.line < b.line; });
  return faults;
}

}  // namespace

std::string fault_text(const Fault& fault, const std::string& file) {
  return file + ":" + std::to_string(fault.line) + ": " +
         (fault.field.empty() ? "" : fault.field + ": ") + fault.text;
}

Result<std::vector<Fault>> find_faults(std::string_view text, const std::string& file) {
  XSP_TRY(const Node root, read_yaml(text, file));
  return file_faults(root);
}

std::string Manifest::place_of(std::string_view field) const {
  std::string_view holder = field;
  while (!holder.empty()) {
    if (const auto found = lines.find(holder); found != lines.end()) {
      return file + ":" + std::to_string(found->second) + ": " + std::string(field);
    }
    const size_t end = holder.find_last_of(".[");
    holder = holder.substr(0, end == std::string_view::npos ? 0 : end);
  }
  return file + ":1: " + std::string(field);
}

Result<std::vector<Manifest>> parse_manifests(std::string_view text, const std::string& file) {
  XSP_TRY(const Node root, read_yaml(text, file));
  const std::vector<Fault> faults = file_faults(root);
  if (!faults.empty()) return corrupt(fault_text(faults[0], file));
  const std::string sha256 = sha256_of(text);
  std::vector<Manifest> manifests;
  each_tree(root, [&](const Node& tree) { manifests.push_back(read_tree(tree, file, sha256)); });
  return manifests;
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& file) {
  XSP_TRY(std::vector<Manifest> manifests, parse_manifests(text, file));
  if (manifests.size() == 1) return std::move(manifests[0]);
  return usage(file + ": it describes " + std::to_string(manifests.size()) +
               " models: add its folder to XSP_MANIFESTS, and name one of them, such as " +
               manifests[0].name);
}

Result<std::vector<Manifest>> read_manifests(const std::string& path) {
  XSP_TRY(const std::string text, read_small_file(path));
  return parse_manifests(text, path);
}

Result<Manifest> read_manifest(const std::string& path) {
  XSP_TRY(const std::string text, read_small_file(path));
  return parse_manifest(text, path);
}

bool is_manifest(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml");
}

}  // namespace xsp::manifest

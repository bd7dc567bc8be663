#include "desk/manifest/import.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "desk/manifest/manifest.h"
#include "desk/manifest/semver.h"
#include "desk/manifest/yaml.h"
#include "shared/base/words.h"

namespace xsp::manifest {
namespace {

std::string small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Writes a text as a YAML scalar in double quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' || c == '\t' ? ' ' : c;
  }
  return out + "\"";
}

// Writes a list of numbers, or of the one number as often as there are channels.
std::string list_text(const Node& node, size_t count) {
  std::vector<std::string> numbers(node.is_scalar() ? count : 0, node.text);
  for (const Node& item : node.items) numbers.push_back(item.text);
  return "[" + joined(numbers) + "]";
}

bool is_sha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

class Importer {
 public:
  Importer(const Node& root, const std::string& file) : root_(root), file_(file) {}

  void import() {
    add_names();
    add_framework();
    add_model();
    add_tensors("inputs", "input");
    add_tensors("outputs", "output");
    add_attributes();
    note_rest();
  }

  Imported take() {
    std::stable_sort(notes_.begin(), notes_.end(),
                     [](const Fault& a, const Fault& b) { return a.line < b.line; });
    Imported imported{std::move(text_), {}};
    for (const Fault& note : notes_) imported.notes.push_back(fault_text(note, file_));
    return imported;
  }

 private:
  void note(const Node& node, const std::string& field, const std::string& text) {
    notes_.push_back({std::max(node.line, 1), field, text});
  }
  void add(const std::string& key, const std::string& value) {
    if (!value.empty()) text_ += key + ": " + value + "\n";
  }

  void add_names() {
    std::string name = root_.text_of("name");
    std::replace_if(
        name.begin(), name.end(),
        [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-'; }, '_');
    add("name", name);
    std::string version = root_.text_of("version");
    if (!parse_version(version)) {
      const auto read = parse_framework_version(version);
      const std::string whole = read ? read->text() : "1.0.0";
      note(root_, "version", "'" + version + "' is not a semantic version: " + whole + " is taken");
      version = whole;
    }
    add("version", version);
    const std::string kind = first_type("outputs", "output");
    const bool is_image = first_type("inputs", "input") == "image";
    const bool is_detector = kind == "box" || kind == "boundingbox" || kind == "bounding_box";
    add("task", is_detector ? "detection" : is_image ? "classification" : "unknown");
    note(root_, "task", "the older manifest has none: it is taken from the types: correct it");
    if (const std::string license = root_.text_of("license"); !license.empty()) {
      add("license", quoted(license));
    }
    if (const std::string text = root_.text_of("description"); !text.empty()) {
      add("description", quoted(text));
    }
  }

  std::string first_type(const char* plural, const char* single) const {
    const Node* list = root_.find(plural) != nullptr ? root_.find(plural) : root_.find(single);
    if (list == nullptr) return {};
    const Node& first = list->is_list() && !list->items.empty() ? list->items[0] : *list;
    return small_letters(first.text_of("type"));
  }

  void add_framework() {
    const Node* node = root_.find("framework");
    if (node == nullptr) return;
    static const std::map<std::string, std::string> kNames = {{"pytorch", "torch"},
                                                              {"caffe2", "onnxruntime"}};
    std::string name = small_letters(node->text_of("name"));
    if (const auto found = kNames.find(name); found != kNames.end()) {
      note(*node, "framework.name", node->text_of("name") + " becomes " + found->second);
      name = found->second;
    }
    const std::string version = node->text_of("version");
    const bool is_valid = !version.empty() && Constraint::parse(version).ok();
    if (!version.empty() && !is_valid) {
      note(*node, "framework.version", "'" + version + "' is no constraint: it is left out");
    }
    add("framework",
        "{name: " + name + (is_valid ? ", version: " + quoted(version) : std::string()) + "}");
  }

  // Takes the weights, beside which a framework finds the description of the graph.
  void add_model() {
    const Node* node = root_.find("model");
    if (node == nullptr) return;
    const std::string graph = node->text_of("graph_path"), weights = node->text_of("weights_path");
    const std::string path = weights.empty() ? graph : weights;
    std::string url = node->text_of("base_url");
    if (!url.empty() && !url.ends_with('/')) url += '/';
    const bool is_whole = path.find("://") != path.npos;
    url = is_whole ? path : url + path;
    const std::string sum =
        small_letters(node->text_of(weights.empty() ? "graph_checksum" : "weights_checksum"));
    const bool is_archive = node->text_of("is_archive") == "true";
    if (url.find("://") != url.npos && is_sha256(sum) && !is_archive &&
        (graph.empty() || weights.empty())) {
      add("model", "{url: " + quoted(url) + ", sha256: " + sum + "}");
      return;
    }
    const std::string name = path.substr(path.find_last_of('/') + 1);
    add("model", "{path: " + quoted(name.empty() ? "model" : name) + "}");
    std::string what = "no sha256 is known of " + url;
    if (!graph.empty() && !weights.empty())
      what = "the model has two files, " + graph + " and " + weights;
    if (is_archive) what = url + " is an archive";
    note(*node, "model", what + ": put it beside the manifest");
  }

  void add_tensors(const char* plural, const char* single) {
    const Node* list = root_.find(plural) != nullptr ? root_.find(plural) : root_.find(single);
    if (list == nullptr) return;
    text_ += std::string(plural) + ":\n";
    const std::vector<Node> one = {*list};
    const std::vector<Node>& items = list->is_list() ? list->items : one;
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string field = std::string(plural) + "[" + std::to_string(i) + "]";
      if (std::string(plural) == "inputs") {
        add_input(items[i], field);
      } else {
        add_output(items[i], field);
      }
    }
  }

  void add_common(const Node& node, const Node& parameters, const std::string& field,
                  std::initializer_list<const char*> layer_keys) {
    std::string name;
    for (const char* key : layer_keys) {
      if (name.empty()) name = parameters.text_of(key);
    }
    if (name.empty()) {
      note(node, field, "the tensor's name is not given: correct 'name'");
      name = "data";
    }
    text_ += "  - name: " + quoted(name) + "\n";
    static const std::vector<std::string> kTypes = {"float64", "float32", "float16", "int64",
                                                    "int32",   "int16",   "int8",    "uint8"};
    const std::string dtype = parameters.text_of("element_type");
    if (std::find(kTypes.begin(), kTypes.end(), dtype) != kTypes.end()) {
      text_ += "    dtype: " + dtype + "\n";
    }
  }

  void add_input(const Node& node, const std::string& field) {
    static const Node kNone;
    const Node* found = node.find("parameters");
    const Node& parameters = found != nullptr ? *found : kNone;
    add_common(node, parameters, field, {"input_layer", "layer_name"});
    const std::string type = small_letters(node.text_of("type"));
    const Node* dimensions = parameters.find("dimensions");
    if (dimensions != nullptr && dimensions->is_list()) {
      std::vector<std::string> sizes = {"N"};
      for (const Node& item : dimensions->items) sizes.push_back(item.text);
      text_ += "    dimensions: [" + joined(sizes) + "]\n";
    }
    if (type != "image") {
      note(node, field + ".type", "'" + type + "' has no counterpart: write its steps");
      return;
    }
    add_image_steps(node, parameters, dimensions, field);
  }

  void add_image_steps(const Node& node, const Node& parameters, const Node* dimensions,
                       const std::string& field) {
    std::string colour = parameters.text_of("color_layout");
    if (colour.empty()) colour = parameters.text_of("color_mode");
    colour = small_letters(colour.empty() ? "RGB" : colour);
    const bool is_hwc = small_letters(parameters.text_of("layout")) == "hwc";
    text_ += std::string("    layout: ") + (is_hwc ? "NHWC" : "NCHW") + "\n    from: image\n";
    text_ += "    steps:\n      - decode\n";
    if (colour == "rgb" || colour == "bgr") {
      text_ += "      - colour_order: {to: " + colour + "}\n";
    } else {
      note(parameters, field + ".color_layout",
           "'" + colour + "' has no counterpart: it is left out");
    }
    if (dimensions != nullptr && dimensions->items.size() == 3) {
      const size_t height = is_hwc ? 0 : 1;
      text_ += "      - resize_pillow: {width: " + dimensions->items[height + 1].text +
               ", height: " + dimensions->items[height].text + ", filter: bilinear}\n";
      note(node, field, "how an image is resized is not said: bilinear is taken: correct it");
    }
    const Node* mean = parameters.find("mean");
    const Node* scale = parameters.find("scale");
    if (mean != nullptr || scale != nullptr) {
      text_ += "      - normalise: {scale: 1";
      if (mean != nullptr) text_ += ", mean: " + list_text(*mean, 3);
      if (scale != nullptr) text_ += ", std: " + list_text(*scale, 3);
      text_ += "}\n";
    }
    if (!is_hwc) text_ += "      - layout: {to: NCHW}\n";
  }

  void add_output(const Node& node, const std::string& field) {
    static const Node kNone;
    const Node* found = node.find("parameters");
    const Node& parameters = found != nullptr ? *found : kNone;
    add_common(node, parameters, field, {"output_layer", "probabilities_layer", "layer_name"});
    for (const char* key : {"labels_url", "features_url"}) {
      const std::string url = parameters.text_of(key);
      if (url.empty()) continue;
      const std::string name = url.substr(url.find_last_of('/') + 1);
      text_ += "    labels: {path: " + quoted(name) + "}\n";
      note(*parameters.find(key), field + "." + key,
           "no sha256 is known of " + url + ": put it beside the manifest as " + name);
    }
    if (first_type("inputs", "input") == "image" &&
        small_letters(node.text_of("type")) != "image") {
      text_ += "    steps: [top: {count: 5}]\n";
    }
  }

  void add_attributes() {
    const Node* node = root_.find("attributes");
    std::string lines;
    if (node != nullptr) {
      for (size_t i = 0; i < node->keys.size(); ++i) {
        if (!node->items[i].is_scalar()) continue;
        lines += "  " + quoted(node->keys[i].text) + ": " + quoted(node->items[i].text) + "\n";
      }
    }
    const Node* references = root_.find("references");
    if (references != nullptr && references->is_list()) {
      std::vector<std::string> texts;
      for (const Node& item : references->items) texts.push_back(quoted(item.text));
      lines += "  references: [" + joined(texts) + "]\n";
    }
    if (!lines.empty()) text_ += "attributes:\n" + lines;
  }

  void note_rest() {
    static const std::vector<std::string> kMapped = {
        "name",  "version", "framework", "license", "description", "model",     "inputs",
        "input", "outputs", "output",    "hidden",  "attributes",  "references"};
    for (size_t i = 0; i < root_.keys.size(); ++i) {
      const std::string& key = root_.keys[i].text;
      if (std::find(kMapped.begin(), kMapped.end(), key) != kMapped.end()) continue;
      notes_.push_back({root_.keys[i].line, key, "it has no counterpart: it is left out"});
    }
  }

  const Node& root_;
  const std::string& file_;
  std::string text_;
  std::vector<Fault> notes_;
};

}  // namespace

Result<Imported> import_dlmodel(std::string_view text, const std::string& file) {
  XSP_TRY(const Node root, read_yaml(text, file));
  if (!root.is_map() || root.text_of("name").empty() || root.find("model") == nullptr) {
    return corrupt(file + ":1: it has no 'name' and 'model': name a manifest of a model");
  }
  Importer importer(root, file);
  importer.import();
  Imported imported = importer.take();
  const auto faults = find_faults(imported.text, file);
  if (!faults.ok() || !faults->empty()) {
    return corrupt(
        file + ": a value has no counterpart: " +
        (faults.ok() ? faults->at(0).field + ": " + faults->at(0).text : faults.error().text));
  }
  return imported;
}

}  // namespace xsp::manifest

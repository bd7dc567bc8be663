#include "desk/manifest/schema.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "desk/manifest/schema_text.h"
#include "shared/base/nearest.h"
#include "shared/base/words.h"

namespace xsp::manifest {
namespace {

constexpr size_t kFaultsMax = 100;
// The matcher of regular expressions recurses for each byte. A longer text fits no pattern.
constexpr size_t kMatchedBytesMax = 4096;
constexpr size_t kShownBytesMax = 60;

std::string shown(const std::string& text) {
  return "'" + (text.size() > kShownBytesMax ? text.substr(0, kShownBytesMax) + "..." : text) + "'";
}

bool has_type(const Node& node, const std::string& type) {
  if (type == "null") return node.kind == Node::Kind::kNull;
  if (type == "object") return node.is_map();
  if (type == "array") return node.is_list();
  if (type == "string") return node.is_scalar();
  if (type == "number") return node.number().has_value();
  if (type == "integer") return node.number() && *node.number() == std::floor(*node.number());
  return node.truth().has_value();
}

std::vector<std::string> texts_of(const Node& node) {
  std::vector<std::string> texts;
  if (node.is_scalar()) texts.push_back(node.text);
  for (const Node& item : node.items) texts.push_back(item.text);
  return texts;
}

bool fits_type(const Node& node, const Node& schema) {
  const Node* type = schema.find("type");
  if (type == nullptr) return true;
  const std::vector<std::string> types = texts_of(*type);
  return std::any_of(types.begin(), types.end(),
                     [&](const std::string& name) { return has_type(node, name); });
}

bool matches(const std::string& text, const std::string& pattern) {
  if (text.size() > kMatchedBytesMax) return false;
  static thread_local std::map<std::string, std::regex> compiled;
  auto found = compiled.find(pattern);
  if (found == compiled.end()) found = compiled.emplace(pattern, std::regex(pattern)).first;
  return std::regex_search(text, found->second);
}

class Checker {
 public:
  explicit Checker(const Node& root) : root_(root) {}

  void check(const Node& node, const Node& given, const std::string& field) {
    if (faults.size() >= kFaultsMax) return;
    const Node& schema = resolved(given);
    if (const Node* list = schema.find("anyOf")) return check_any(node, schema, *list, field);
    if (!fits_type(node, schema)) {
      return add(node.line, field, what(node) + " is not " + title(schema) + remedy(schema));
    }
    if (const Node* allowed = schema.find("enum")) check_enum(node, schema, *allowed, field);
    if (node.is_scalar()) check_scalar(node, schema, field);
    if (node.is_list()) check_list(node, schema, field);
    if (node.is_map()) check_map(node, schema, field);
  }

  std::vector<Fault> faults;

 private:
  const Node& resolved(const Node& schema) const {
    constexpr std::string_view kPrefix = "#/$defs/";
    const std::string target = schema.text_of("$ref");
    const Node* definitions = root_.find("$defs");
    if (target.size() <= kPrefix.size() || definitions == nullptr) return schema;
    const Node* found = definitions->find(target.substr(kPrefix.size()));
    return found != nullptr ? *found : schema;
  }

  static std::string what(const Node& node) {
    if (node.is_scalar()) return shown(node.text);
    return node.is_map() ? "a map" : node.is_list() ? "a list" : "nothing";
  }
  static std::string title(const Node& schema) {
    const std::string text = schema.text_of("title");
    return text.empty() ? "what is expected here" : text;
  }
  static std::string remedy(const Node& schema) {
    const Node* examples = schema.find("examples");
    if (examples == nullptr || examples->items.empty()) return ": write " + title(schema);
    return ": write one like " + examples->items[0].text;
  }

  void add(int line, const std::string& field, std::string text) {
    if (faults.size() < kFaultsMax) faults.push_back({line, field, std::move(text)});
  }

  // Uses the alternative for the node's kind: its faults say more than "none of them fits".
  void check_any(const Node& node, const Node& schema, const Node& list, const std::string& field) {
    std::vector<std::string> titles;
    for (const Node& item : list.items) {
      const Node& alternative = resolved(item);
      if (fits_type(node, alternative)) return check(node, alternative, field);
      titles.push_back(title(alternative));
    }
    add(node.line, field,
        what(node) + " is not " + joined(titles, " or ") +
            (schema.find("examples") != nullptr ? remedy(schema) : ": write one of them"));
  }

  void check_enum(const Node& node, const Node& schema, const Node& allowed,
                  const std::string& field) {
    const std::vector<std::string> values = texts_of(allowed);
    if (node.is_scalar() && std::find(values.begin(), values.end(), node.text) != values.end()) {
      return;
    }
    const std::string kind = schema.text_of("title");
    add(node.line, field,
        what(node) + (kind.empty() ? " is unknown: " : " is not " + kind + ": ") +
            did_you_mean(node.text, values, "write one of " + joined(values)));
  }

  void check_scalar(const Node& node, const Node& schema, const std::string& field) {
    const std::string& text = node.text;
    if (const size_t most = limit(schema, "maxLength", SIZE_MAX); text.size() > most) {
      return add(node.line, field,
                 shown(text) + " has " + std::to_string(text.size()) + " bytes: at most " +
                     std::to_string(most) + " are allowed");
    }
    const std::string pattern = schema.text_of("pattern");
    if (text.size() < limit(schema, "minLength", 0) ||
        (!pattern.empty() && !matches(text, pattern))) {
      return add(node.line, field, shown(text) + " is not " + title(schema) + remedy(schema));
    }
    const Node* least = schema.find("minimum");
    if (least != nullptr && node.number() < least->number()) {
      add(node.line, field, text + " is less than " + least->text + remedy(schema));
    }
  }

  static size_t limit(const Node& schema, const char* keyword, size_t otherwise) {
    const Node* node = schema.find(keyword);
    return node != nullptr ? static_cast<size_t>(node->number().value_or(0)) : otherwise;
  }

  void check_size(const Node& node, const Node& schema, const std::string& field, const char* least,
                  const char* most) {
    const size_t low = limit(schema, least, 0), high = limit(schema, most, SIZE_MAX);
    const size_t size = node.items.size();
    if (size >= low && size <= high) return;
    add(node.line, field,
        "it has " + std::to_string(size) + " entries: write at " +
            (size < low ? "least " + std::to_string(low) : "most " + std::to_string(high)));
  }

  void check_list(const Node& node, const Node& schema, const std::string& field) {
    check_size(node, schema, field, "minItems", "maxItems");
    const Node* items = schema.find("items");
    if (items == nullptr) return;
    for (size_t i = 0; i < node.items.size(); ++i) {
      check(node.items[i], *items, field + "[" + std::to_string(i) + "]");
    }
  }

  void check_map(const Node& node, const Node& schema, const std::string& field) {
    check_size(node, schema, field, "minProperties", "maxProperties");
    check_required(node, schema, field);
    static const Node kNone;
    const Node* known = schema.find("properties");
    const Node& properties = known != nullptr ? *known : kNone;
    const Node* others = schema.find("additionalProperties");
    const Node* names = schema.find("propertyNames");
    for (size_t i = 0; i < node.keys.size(); ++i) {
      const Key& key = node.keys[i];
      const std::string name = (field.empty() ? "" : field + ".") + key.text;
      if (names != nullptr) {
        Node text;
        text.kind = Node::Kind::kScalar;
        text.line = key.line;
        text.text = key.text;
        check(text, *names, name);
      }
      if (const Node* property = properties.find(key.text)) {
        check(node.items[i], *property, name);
      } else if (others != nullptr && others->is_map()) {
        check(node.items[i], *others, name);
      } else if (others != nullptr) {
        add(key.line, name, unknown_field(key.text, properties));
      }
    }
  }

  static std::string unknown_field(const std::string& name, const Node& properties) {
    std::vector<std::string> names;
    for (const Key& key : properties.keys) names.push_back(key.text);
    return "there is no such field: " + did_you_mean(name, names, "write one of " + joined(names));
  }

  // Returns the schema's "else" if the node lacks a field that the "if" requires, else null. The
  // "then" is for other readers of the schema: a caller that wants more of such a node checks it.
  static const Node* otherwise(const Node& node, const Node& schema) {
    const Node* condition = schema.find("if");
    const Node* required = condition != nullptr ? condition->find("required") : nullptr;
    if (required == nullptr) return nullptr;
    const std::vector<std::string> keys = texts_of(*required);
    const bool has_all = std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return node.find(key) != nullptr;
    });
    return has_all ? nullptr : schema.find("else");
  }

  void check_required(const Node& node, const Node& schema, const std::string& field) {
    for (const Node* holder : {&schema, otherwise(node, schema)}) {
      const Node* required = holder != nullptr ? holder->find("required") : nullptr;
      if (required == nullptr) continue;
      for (const std::string& key : texts_of(*required)) require(node, schema, field, key);
    }
    if (const Node* dependent = schema.find("dependentRequired")) {
      for (size_t i = 0; i < dependent->keys.size(); ++i) {
        if (node.find(dependent->keys[i].text) == nullptr) continue;
        for (const std::string& key : texts_of(dependent->items[i])) {
          require(node, schema, field, key);
        }
      }
    }
    const Node* choices = schema.find("oneOf");
    if (choices == nullptr) return;
    std::vector<std::string> keys, given;
    for (const Node& choice : choices->items) {
      const std::string key = choice.find("required")->items[0].text;
      keys.push_back(key);
      if (node.find(key) != nullptr) given.push_back(key);
    }
    if (given.size() == 1) return;
    add(node.line, field,
        (given.empty() ? "none of " + joined(keys) + " is given"
                       : joined(given, " and ") + " are given at once") +
            ": write exactly one of them");
  }

  void require(const Node& node, const Node& schema, const std::string& field,
               const std::string& key) {
    if (node.find(key) != nullptr) return;
    const Node* properties = schema.find("properties");
    const Node* property = properties != nullptr ? properties->find(key) : nullptr;
    std::string example = "...";
    if (property != nullptr) {
      const Node* examples = resolved(*property).find("examples");
      if (examples != nullptr && !examples->items.empty()) example = examples->items[0].text;
    }
    add(node.line, field, "'" + key + "' is missing: write '" + key + ": " + example + "'");
  }

  const Node& root_;
};

void collect_unknown(const Node& schema, std::vector<std::string>* unknown) {
  static const std::vector<std::string> kPlain = {
      "$schema",      "$ref",      "title",    "description", "examples",
      "type",         "if",        "then",     "else",        "enum",
      "pattern",      "required",  "oneOf",    "minimum",     "dependentRequired",
      "minLength",    "maxLength", "minItems", "maxItems",    "minProperties",
      "maxProperties"};
  for (size_t i = 0; i < schema.keys.size(); ++i) {
    const std::string& key = schema.keys[i].text;
    const Node& value = schema.items[i];
    if (key == "properties" || key == "$defs" || key == "anyOf") {
      for (const Node& item : value.items) collect_unknown(item, unknown);
    } else if (key == "items" || key == "additionalProperties" || key == "propertyNames") {
      collect_unknown(value, unknown);
    } else if (std::find(kPlain.begin(), kPlain.end(), key) == kPlain.end()) {
      unknown->push_back(key);
    }
  }
}

}  // namespace

std::vector<Fault> check(const Node& tree, const Node& schema) {
  Checker checker(schema);
  checker.check(tree, schema, "");
  std::stable_sort(checker.faults.begin(), checker.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.line < b.line; });
  return std::move(checker.faults);
}

const Node& manifest_schema() {
  static const Node schema = [] {
    auto read = read_yaml(kSchemaText, "schema.json");
    return read.ok() ? std::move(*read) : Node{};
  }();
  return schema;
}

std::vector<std::string> unknown_keywords(const Node& schema) {
  std::vector<std::string> unknown;
  collect_unknown(schema, &unknown);
  return unknown;
}

}  // namespace xsp::manifest

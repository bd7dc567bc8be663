#include "desk/manifest/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>

#include "shared/base/guard.h"
#include "shared/base/text.h"

namespace xsp::manifest {
namespace {

size_t count_nodes(const Node& node) {
  size_t count = 1;
  for (const Node& item : node.items) count += count_nodes(item);
  return count;
}

size_t depth_of(const Node& node) {
  size_t depth = 0;
  for (const Node& item : node.items) depth = std::max(depth, depth_of(item));
  return depth + 1;
}

// Builds the tree from the events. The first fault is kept, and all later events are ignored: the
// parser itself needs at most the time for the bytes that read_yaml admits.
class Builder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.line = mark.line + 1;
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      fail(mark.line + 1, "an alias stands inside the node that it repeats: write the node out");
      return;
    }
    if (!fault_.empty()) return;
    count_ += count_nodes(found->second) - 1;
    if (open_.size() + depth_of(found->second) > kYamlDepthMax) return fail_depth(mark.line + 1);
    add(found->second, 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.line = mark.line + 1;
    node.is_plain = tag == "?";
    node.text = value;
    if (tag != "?" && tag != "!") {
      fail(node.line, "the tag '" + tag + "' is not supported: write the value without a tag");
    }
    if (const CheckedText checked = check_text(value); !checked.ok()) {
      fail(node.line, std::string("a text is ") + checked.fault + ": write it in UTF-8");
    }
    add(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { close(); }

  const std::string& fault() const { return fault_; }
  int fault_line() const { return fault_line_; }
  Node take() { return std::move(root_); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    std::optional<Key> key;  // of a map: the key whose value comes next
  };

  void fail(int line, std::string text) {
    if (!fault_.empty()) return;
    fault_ = std::move(text);
    fault_line_ = line;
  }
  void fail_depth(int line) {
    fail(line, "it is nested more than " + std::to_string(kYamlDepthMax) + " deep: nest it less");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= kYamlDepthMax) fail_depth(mark.line + 1);
    if (!fault_.empty()) return;
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    open_.push_back({std::move(node), anchor, std::nullopt});
  }
  void close() {
    if (!fault_.empty()) return;
    Open closed = std::move(open_.back());
    open_.pop_back();
    add(std::move(closed.node), closed.anchor);
  }

  void add(Node node, YAML::anchor_t anchor) {
    if (++count_ > kYamlNodesMax) {
      fail(node.line, "it has more than " + std::to_string(kYamlNodesMax) +
                          " nodes, with what its aliases repeat: make it smaller");
    }
    if (!fault_.empty()) return;
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.key) {
      parent.node.keys.push_back(std::move(*parent.key));
      parent.node.items.push_back(std::move(node));
      parent.key.reset();
    } else {
      add_key(parent, node);
    }
  }
  void add_key(Open& parent, const Node& node) {
    if (!node.is_scalar()) return fail(node.line, "a key is no text: write a name");
    for (const Key& key : parent.node.keys) {
      if (key.text != node.text) continue;
      return fail(node.line, "the key '" + node.text + "' stands twice, first in line " +
                                 std::to_string(key.line) + ": remove one");
    }
    parent.key = Key{node.text, node.line};
  }

  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  size_t count_ = 0;
  std::string fault_;
  int fault_line_ = 0;
};

Error at(std::string_view file, int line, const std::string& text) {
  return corrupt(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

// Makes an error of "yaml-cpp: error at line 3, column 5: text", in which lines count from 1.
Error syntax_error(std::string_view file, const std::string& thrown) {
  int line = 0, column = 0, used = 0;
  if (std::sscanf(thrown.c_str(), "yaml-cpp: error at line %d, column %d: %n", &line, &column,
                  &used) == 2 &&
      used > 0) {
    return at(file, line,
              "column " + std::to_string(column) + ": not YAML: " +
                  thrown.substr(static_cast<size_t>(used)) + ": correct the syntax there");
  }
  return corrupt(std::string(file) + ": not YAML: " + thrown + ": correct the syntax");
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) return &items[i];
  }
  return nullptr;
}

std::string Node::text_of(std::string_view key) const {
  const Node* node = find(key);
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

std::optional<double> Node::number() const {
  if (!is_scalar() || !is_plain) return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<bool> Node::truth() const {
  if (!is_scalar() || !is_plain) return std::nullopt;
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

Result<Node> read_yaml(std::string_view text, std::string_view file) {
  if (text.size() > kYamlBytesMax) {
    return corrupt(std::string(file) + ": it has " + std::to_string(text.size()) +
                   " bytes: at most " + std::to_string(kYamlBytesMax) + " are read");
  }
  Builder builder;
  bool is_empty = false;
  bool has_more = false;
  const auto thrown = guard([&] {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    is_empty = !parser.HandleNextDocument(builder);
    Builder second;
    has_more = !is_empty && builder.fault().empty() && parser.HandleNextDocument(second);
  });
  if (!builder.fault().empty()) return at(file, builder.fault_line(), builder.fault());
  if (thrown && thrown->out_of_memory) {
    return Error{Code::kOutOfMemory, std::string(file) + ": out of memory: make it smaller"};
  }
  if (thrown) return syntax_error(file, thrown->text);
  if (is_empty) return at(file, 1, "it is empty: write 'name: ...'");
  if (has_more) {
    return corrupt(std::string(file) + ": it has several documents: keep what stands before '---'");
  }
  return builder.take();
}

Result<std::string> read_small_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  std::string text(kYamlBytesMax + 1, '\0');
  if (file == nullptr) {
    return failed(path + ": cannot be opened: " + std::strerror(errno) + ": name a file");
  }
  const size_t size = std::fread(text.data(), 1, text.size(), file);
  const bool is_wrong = std::ferror(file) != 0;
  std::fclose(file);
  if (is_wrong) return failed(path + ": cannot be read: name a regular file");
  text.resize(size);
  if (size > kYamlBytesMax) {
    return corrupt(path + ": it has more than " + std::to_string(kYamlBytesMax) +
                   " bytes: a manifest is small: name another file");
  }
  return text;
}

}  // namespace xsp::manifest

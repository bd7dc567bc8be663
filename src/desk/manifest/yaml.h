// Reads YAML 1.2, and JSON, which is a part of it, as a tree that knows the line of every node.
//
// The text may come from a stranger. Its size, its depth and its number of nodes have limits, and a
// node that an alias repeats counts each time. The reader is built on yaml-cpp's events. Refused:
// yaml-cpp's own tree, because it forgets which keys were given twice, and aliases expand while
// somebody walks through it, behind any check.
#ifndef XSP_DESK_MANIFEST_YAML_H_
#define XSP_DESK_MANIFEST_YAML_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace xsp::manifest {

inline constexpr size_t kYamlBytesMax = 1u << 20;
inline constexpr size_t kYamlNodesMax = 20000;
inline constexpr size_t kYamlDepthMax = 32;

struct Key {
  std::string text;
  int line = 0;
};

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 0;           // counted from 1
  bool is_plain = false;  // a scalar without quotes: it may be a number or a truth value
  std::string text;       // a scalar's text, as it is written
  std::vector<Key> keys;  // a map's keys, one for each item
  std::vector<Node> items;

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  // Returns nullptr if the map has no such key, or if it is no map.
  const Node* find(std::string_view key) const;
  // Returns the text of the key's scalar; empty if there is none.
  std::string text_of(std::string_view key) const;
  // Returns nothing if it is no plain scalar of that kind.
  std::optional<double> number() const;
  std::optional<bool> truth() const;
};

// Reads one document. `file` names it in errors, which begin with "FILE:LINE: ".
Result<Node> read_yaml(std::string_view text, std::string_view file);
// Reads a whole file of at most `kYamlBytesMax` bytes.
Result<std::string> read_small_file(const std::string& path);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_YAML_H_

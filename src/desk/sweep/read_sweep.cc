#include "desk/sweep/read_sweep.h"

#include <vector>

#include "desk/manifest/manifest.h"
#include "desk/manifest/schema.h"
#include "desk/sweep/schema_text.h"

namespace xsp::sweep {
namespace {

using manifest::Node;

const Node& schema() {
  static const Node tree = [] {
    auto read = manifest::read_yaml(kSchemaText, "schema.json");
    return read.ok() ? std::move(*read) : Node{};
  }();
  return tree;
}

}  // namespace

Result<Node> read_sweep(const Asked& asked) {
  XSP_TRY(Node tree, manifest::read_yaml(asked.text, asked.file));
  const std::vector<manifest::Fault> faults = manifest::check(tree, schema());
  if (!faults.empty()) return usage(manifest::fault_text(faults.front(), asked.file));
  return tree;
}

}  // namespace xsp::sweep

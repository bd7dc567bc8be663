// Checks a tree against a JSON Schema, and says what would be right.
//
// The schema is manifests/schema.json, which editors use as well. These keywords are understood,
// and a schema with another one is refused: $ref (to #/$defs), type, enum, pattern, required,
// properties, additionalProperties, propertyNames, dependentRequired, items, oneOf (of schemas that
// only require a key), anyOf, if with else (which only require keys), and the limits min/max of
// Length, Items, Properties, and minimum. "then" is for other readers of the schema.
// Annotations have a use: "title" says what a value is in an error, and "examples" what to write.
//
// YAML has no types of its own: every scalar is a text for the schema, because `version: 1.10` is
// meant as it is written, and a plain scalar may also be a number or a truth value.
#ifndef XSP_DESK_MANIFEST_SCHEMA_H_
#define XSP_DESK_MANIFEST_SCHEMA_H_

#include <string>
#include <vector>

#include "desk/manifest/yaml.h"

namespace xsp::manifest {

struct Fault {
  int line = 0;
  std::string field;  // "inputs[0].dtype"; empty: the whole
  std::string text;   // "what is wrong: what would be right"
};

// Returns the faults ordered by line; none if the tree satisfies the schema.
std::vector<Fault> check(const Node& tree, const Node& schema);
// Returns the schema of manifests, which is compiled in.
const Node& manifest_schema();
// Returns the keywords of a schema that are not understood.
std::vector<std::string> unknown_keywords(const Node& schema);

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_SCHEMA_H_

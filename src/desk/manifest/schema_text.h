// The text of manifests/schema.json, which src/desk/manifest/module.cmake compiles in.
#ifndef XSP_DESK_MANIFEST_SCHEMA_TEXT_H_
#define XSP_DESK_MANIFEST_SCHEMA_TEXT_H_

#include <string_view>

namespace xsp::manifest {

extern const std::string_view kSchemaText;

}  // namespace xsp::manifest

#endif  // XSP_DESK_MANIFEST_SCHEMA_TEXT_H_

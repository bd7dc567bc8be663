// The text of schema.json, which module.cmake compiles in.
#ifndef XSP_DESK_SWEEP_SCHEMA_TEXT_H_
#define XSP_DESK_SWEEP_SCHEMA_TEXT_H_

#include <string_view>

namespace xsp::sweep {

extern const std::string_view kSchemaText;

}  // namespace xsp::sweep

#endif  // XSP_DESK_SWEEP_SCHEMA_TEXT_H_

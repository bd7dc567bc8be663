# The schema of sweeps, compiled in.
set(schema "${CMAKE_SOURCE_DIR}/src/desk/sweep/schema.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${schema}")
file(READ "${schema}" content)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/sweep_schema.cc" @ONLY CONTENT
"// Generated from src/desk/sweep/schema.json.
#include \"desk/sweep/schema_text.h\"

namespace xsp::sweep {

const std::string_view kSchemaText = R\"xsp-json(@content@)xsp-json\";

}  // namespace xsp::sweep
")
target_sources(xsp_sweep PRIVATE "${CMAKE_BINARY_DIR}/generated/sweep_schema.cc")

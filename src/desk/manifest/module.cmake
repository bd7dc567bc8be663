# The schema of manifests, compiled in.
set(schema "${CMAKE_SOURCE_DIR}/manifests/schema.json")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${schema}")
file(READ "${schema}" content)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/manifest_schema.cc" @ONLY CONTENT
"// Generated from manifests/schema.json.
#include \"desk/manifest/schema_text.h\"

namespace xsp::manifest {

const std::string_view kSchemaText = R\"xsp-json(@content@)xsp-json\";

}  // namespace xsp::manifest
")
target_sources(xsp_manifest PRIVATE "${CMAKE_BINARY_DIR}/generated/manifest_schema.cc")

# npm's package, which says in a test what a constraint means.
if(XSP_TESTS AND NOT XSP_FUZZ)
  xsp_dep(semver semver)
  set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/src/desk/manifest/semver_test.cc" APPEND PROPERTY
    COMPILE_DEFINITIONS "XSP_SEMVER_ORACLE=\"${semver}/package\"")
endif()

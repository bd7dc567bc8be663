# Writes OUTPUT: a C++ file with the text of INPUT, the schema of an .xsp file.
file(READ "${INPUT}" content)
file(WRITE "${OUTPUT}" "// Generated from src/store/schema.sql.\n#include \"store/duck.h\"\n\n"
  "namespace xsp::store {\n\nconst std::string_view kSchemaSql = R\"xsp-sql(${content})xsp-sql\";\n\n"
  "}  // namespace xsp::store\n")

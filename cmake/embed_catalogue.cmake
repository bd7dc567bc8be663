# Writes OUTPUT: a C++ file with the text of each SQL file below FOLDER, for src/desk/analyze/catalogue.cc.
set(text "// Generated from analyses/*.sql.\n#include \"desk/analyze/embedded.h\"\n\n")

string(APPEND text
  "namespace xsp::analyze {\n\nconst std::vector<EmbeddedSql>& embedded_sql() {\n"
  "  static const std::vector<EmbeddedSql> files = {\n")
foreach(file ${SQL})
  file(RELATIVE_PATH name "${FOLDER}" "${file}")
  string(REGEX REPLACE "[.]sql$" "" name "${name}")
  file(READ "${file}" content)
  # A string literal may hold at most 64 KiB; an analysis is far below.
  string(APPEND text "      {\"${name}\", R\"xsp-sql(${content})xsp-sql\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace xsp::analyze\n")
file(WRITE "${OUTPUT}" "${text}")

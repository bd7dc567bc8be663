# Writes OUTPUT: a C++ file with the text of FILES, the tables of an .xsp file, each in the constant of its NAMES.
string(CONCAT text "// Generated from the .sql files of src/desk/store.\n"
  "#include \"desk/store/duck.h\"\n\nnamespace xsp::store {\n")
foreach(file name IN ZIP_LISTS FILES NAMES)
  file(READ "${file}" content)
  string(APPEND text "\nconst std::string_view ${name} = R\"xsp-sql(${content})xsp-sql\";\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}\n}  // namespace xsp::store\n")

# Writes OUTPUT: a C++ file with the text of FILES, each in the constant of its NAMES.
string(CONCAT text "// Generated from theme.css, site.css and site.js.\n"
  "#include \"desk/site/html.h\"\n\nnamespace xsp::site {\n")
foreach(file name IN ZIP_LISTS FILES NAMES)
  file(READ "${file}" content)
  string(APPEND text "\nconst std::string_view ${name} = R\"xsp-site(${content})xsp-site\";\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}\n}  // namespace xsp::site\n")

# The tables, compiled in.
set(schema "${CMAKE_BINARY_DIR}/generated/schema.cc")
set(folder "${CMAKE_CURRENT_SOURCE_DIR}/src/desk/store")
add_custom_command(OUTPUT "${schema}"
  COMMAND ${CMAKE_COMMAND} "-DFILES=${folder}/schema.sql;${folder}/spans.sql;${folder}/samples.sql"
    "-DNAMES=kSchemaSql;kSpansSql;kSamplesSql"
    "-DOUTPUT=${schema}" -P "${folder}/embed_schema.cmake"
  DEPENDS "${folder}/schema.sql" "${folder}/spans.sql" "${folder}/samples.sql" "${folder}/embed_schema.cmake" VERBATIM)
target_sources(xsp_store PRIVATE "${schema}")

# The tests record traces of their own.
set(XSP_TEST_LIBRARIES xsp_annotate)

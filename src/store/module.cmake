# schema.sql, compiled in.
set(schema "${CMAKE_BINARY_DIR}/generated/schema.cc")
add_custom_command(OUTPUT "${schema}"
  COMMAND ${CMAKE_COMMAND} "-DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/src/store/schema.sql" "-DOUTPUT=${schema}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/src/store/embed_schema.cmake"
  DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/store/schema.sql"
    "${CMAKE_CURRENT_SOURCE_DIR}/src/store/embed_schema.cmake" VERBATIM)
target_sources(xsp_store PRIVATE "${schema}")

# The tests record traces of their own.
set(XSP_TEST_LIBRARIES xsp_annotate)

# ONNX Runtime. The build needs its headers; its library is loaded at run time, by default from beside libxsp.so
# (adapters/onnxruntime/library.h).
xsp_dep(ort-headers ort_headers)
xsp_dep(ort-lib ort_lib)
file(GLOB ort_libraries "${ort_lib}/onnxruntime/capi/libonnxruntime.so.*"
  "${ort_lib}/onnxruntime/capi/libonnxruntime_providers_shared.so")
foreach(library ${ort_libraries})
  # The library is found by its name without the minor version.
  get_filename_component(file "${library}" NAME)
  string(REGEX REPLACE "(\\.so\\.[0-9]+).*" "\\1" file "${file}")
  file(CREATE_LINK "${library}" "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${file}" SYMBOLIC)
  install(FILES "${library}" DESTINATION lib RENAME "${file}")
endforeach()

# For programs that link the library itself, such as the bare one that xsp is compared with.
add_library(onnxruntime SHARED IMPORTED)
set_target_properties(onnxruntime PROPERTIES
  IMPORTED_LOCATION "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libonnxruntime.so.1"
  IMPORTED_SONAME libonnxruntime.so.1)
target_include_directories(onnxruntime SYSTEM INTERFACE "${ort_headers}/usr/include/onnxruntime")

target_include_directories(${target} SYSTEM PRIVATE "${ort_headers}/usr/include/onnxruntime")
target_link_libraries(${target} PRIVATE xsp_formats simdjson::simdjson ${CMAKE_DL_LIBS})

file(GLOB ort_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/adapters/onnxruntime/*_test.cc")
xsp_test(adapters_onnxruntime_test SOURCES ${ort_tests} $<TARGET_OBJECTS:${target}>
  LIBRARIES xsp_formats xsp_annotate onnxruntime simdjson::simdjson ${CMAKE_DL_LIBS})

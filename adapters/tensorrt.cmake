# TensorRT's libraries are loaded at run time (adapters/tensorrt/library.h). The build needs only headers: those of
# TensorRT are in third_party, and those of CUDA are fetched for the collector `cupti`, too.
if(NOT XSP_CUDA_HEADERS)
  set(XSP_SKIP "built without NVIDIA's headers: tools/deps.sh --build, and build with the preset release")
  return()
endif()
xsp_dep(cuda-runtime cuda_runtime)
xsp_dep(cuda-crt cuda_crt)
set(tensorrt_headers "${CMAKE_SOURCE_DIR}/third_party/tensorrt" "${cuda_runtime}/nvidia/cu13/include"
  "${cuda_crt}/nvidia/cu13/include")
target_include_directories(${target} SYSTEM PRIVATE ${tensorrt_headers})
target_link_libraries(${target} PRIVATE xsp_formats simdjson::simdjson ${CMAKE_DL_LIBS})
file(GLOB tensorrt_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/adapters/tensorrt/*_test.cc")
xsp_test(adapters_tensorrt_test SOURCES ${tensorrt_tests} $<TARGET_OBJECTS:${target}>
  "${CMAKE_SOURCE_DIR}/tests/contract/trace_file.cc"
  LIBRARIES xsp_formats xsp_trace xsp_annotate simdjson::simdjson ${CMAKE_DL_LIBS})
if(TARGET adapters_tensorrt_test)
  target_include_directories(adapters_tensorrt_test SYSTEM PRIVATE ${tensorrt_headers})
endif()

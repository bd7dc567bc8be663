# Wrappers of the libraries' functions, generated from their headers. Neither the build links these libraries, nor does
# xsp need them at run time.
if(NOT XSP_CUDA_HEADERS)
  set(XSP_SKIP "built without NVIDIA's headers: tools/deps.sh --build, and build with the preset release")
  return()
endif()
xsp_dep(libclang libclang)
file(GLOB clang "${libclang}/*/platlib")
set(library_headers "")
foreach(dep cuda-runtime cuda-crt cublas-headers cudnn-headers cufft-headers nccl-headers)
  xsp_dep(${dep} package)
  file(GLOB includes "${package}/nvidia/*/include")
  list(APPEND library_headers ${includes})
endforeach()
list(TRANSFORM library_headers PREPEND "--include=" OUTPUT_VARIABLE include_flags)

set(generated "${CMAKE_BINARY_DIR}/generated/library_calls")
set(generator "${CMAKE_SOURCE_DIR}/tools/library_calls")
file(GLOB generator_parts CONFIGURE_DEPENDS "${generator}/*.py")
set(wrappers cublas cudnn cufft nccl blas onednn)
list(TRANSFORM wrappers REPLACE "(.+)" "${generated}/\\1.cc")
add_custom_command(OUTPUT ${wrappers} "${generated}/headers.h"
  COMMAND python3 "${generator}" --out "${generated}" --clang ${clang} ${include_flags}
  DEPENDS ${generator_parts} "${CMAKE_SOURCE_DIR}/tools/deps.lock"
  COMMENT "Writing the wrappers of library calls" VERBATIM)
target_sources(${target} PRIVATE ${wrappers} "${generated}/headers.h")
target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}/generated")

# The library is loaded into programs that know nothing of it: it may need the C library only.
target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)

xsp_test(collectors_library_calls_test SOURCES "collectors/library_calls/plan_json_test.cc"
  "collectors/library_calls/plan_json.cc" "collectors/library_calls/kept.cc" LIBRARIES xsp_annotate)
if(TARGET collectors_library_calls_test)
  target_include_directories(collectors_library_calls_test PRIVATE "${CMAKE_SOURCE_DIR}")
endif()

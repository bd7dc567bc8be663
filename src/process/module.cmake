# libxsp.so is the half that lives in the profiled process. Only this library holds the state of the recording, so that
# a process has one recording, whichever parts link the library. The static module has nothing of src/process/record.
#
# The library needs only libc, libdl and pthread: it has no exceptions, no run-time types, and uses only header parts of
# the standard library. The C compiler's driver links it.
file(GLOB annotate CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/process/record/*.cc")
set(annotate_tests ${annotate})
list(FILTER annotate_tests INCLUDE REGEX "_test\\.cc$")
list(FILTER annotate EXCLUDE REGEX "_test\\.cc$")
add_library(xsp_annotate SHARED ${annotate}
  "${CMAKE_SOURCE_DIR}/src/shared/base/crc32c.cc"
  "${CMAKE_SOURCE_DIR}/src/shared/base/log.cc"
  "${CMAKE_SOURCE_DIR}/src/shared/trace/encode.cc"
  "${CMAKE_SOURCE_DIR}/src/shared/trace/ring.cc"
  "${CMAKE_SOURCE_DIR}/src/shared/trace/writer.cc")
target_compile_options(xsp_annotate PRIVATE
  -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_libraries(xsp_annotate PRIVATE xsp_flags Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(xsp_annotate
  PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>" PRIVATE "${CMAKE_SOURCE_DIR}/src")
set_target_properties(xsp_annotate PROPERTIES OUTPUT_NAME xsp LINKER_LANGUAGE C)
# Ending threads call into the library, so it is never unloaded.
target_link_options(xsp_annotate PRIVATE -Wl,-z,nodelete)
install(TARGETS xsp_annotate DESTINATION lib)

# libxsp-attach.so is the library that `xsp run` loads into the processes of a command. It has the same restrictions as
# libxsp.so.
file(GLOB attach CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/process/watch/*.cc")
set(attach_tests ${attach})
list(FILTER attach_tests INCLUDE REGEX "_test\\.cc$")
list(FILTER attach EXCLUDE REGEX "_test\\.cc$")
# The library also contains the stack sampler.
file(GLOB sample CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/process/sample/*.cc")
set(sample_tests ${sample})
list(FILTER sample_tests INCLUDE REGEX "_test\\.cc$")
list(FILTER sample EXCLUDE REGEX "_test\\.cc$")
add_library(xsp_sample OBJECT ${sample})
target_compile_options(xsp_sample PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_libraries(xsp_sample PRIVATE xsp_flags PUBLIC xsp_annotate unwinder)
target_include_directories(xsp_sample PRIVATE "${CMAKE_SOURCE_DIR}/src")
add_library(xsp_attach SHARED ${attach} "${CMAKE_SOURCE_DIR}/src/shared/base/log.cc")
target_compile_options(xsp_attach PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_libraries(xsp_attach PRIVATE xsp_flags xsp_sample Threads::Threads ${CMAKE_DL_LIBS})
# A program may have a libunwind of its own, so this one exports no names.
target_link_options(xsp_attach PRIVATE -Wl,--exclude-libs,ALL)
target_include_directories(xsp_attach PRIVATE "${CMAKE_SOURCE_DIR}/src")
set_target_properties(xsp_attach PROPERTIES OUTPUT_NAME xsp-attach LINKER_LANGUAGE C
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
install(TARGETS xsp_attach DESTINATION lib)

target_link_libraries(xsp_process PUBLIC xsp_annotate PRIVATE loadgen)

# These tests run under ThreadSanitizer, and also without any sanitizer.
if(NOT XSP_FUZZ)
  # The tests unwind through this library. It has no symbols, like installed libraries.
  add_library(sample_chain SHARED EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/src/process/sample/chain.c")
  target_compile_options(sample_chain PRIVATE -O2)
  target_link_options(sample_chain PRIVATE -s)
  xsp_test(sample_test CASES SOURCES ${sample_tests}
    LIBRARIES xsp_sample xsp_trace sample_chain ${CMAKE_DL_LIBS})
  xsp_test(annotate_test CASES LABEL threads-release SOURCES ${annotate_tests} ${attach_tests}
    "${CMAKE_SOURCE_DIR}/src/process/watch/blocks.cc" "${CMAKE_SOURCE_DIR}/src/process/watch/room.cc"
    LIBRARIES xsp_annotate xsp_trace ${CMAKE_DL_LIBS})
endif()

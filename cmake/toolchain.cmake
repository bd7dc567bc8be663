# Language level, warnings, sanitizers and output folders, for every target of the tree.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)

set(XSP_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize= takes them")
option(XSP_TESTS "Build the tests" ON)
option(XSP_CUDA_HEADERS "Build what needs NVIDIA's headers; OFF: nothing of CUDA is fetched" ON)
option(XSP_QUICK "Build sooner: less optimised where nothing is measured, no benchmarks and examples" OFF)
option(XSP_GROUPED "Compile a folder's sources together: sooner from nothing, later after a change" ${XSP_QUICK})
option(XSP_GROUPED_TESTS "Compile the tests of a folder together" ${XSP_GROUPED})
option(XSP_FUZZ "Build the fuzzers, and only what they need (clang)" OFF)
option(XSP_CAPTURE_ONLY "Build the half that lives in the profiled process, and correlate" OFF)

add_library(xsp_flags INTERFACE)
target_compile_options(xsp_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # These are false alarms of g++ 12 inside its own library under -O2 and sanitizers.
  target_compile_options(xsp_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-maybe-uninitialized>)
endif()
# Sanitized builds keep their assertions, and compile fast. Reports name functions and lines (-g1); the rest of what a
# debugger knows would double the bytes that are linked.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
if(XSP_SANITIZE)
  add_compile_options(-fsanitize=${XSP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Programs stay where they are linked: a sanitized one has millions of addresses that each start would relocate.
  add_link_options(-fsanitize=${XSP_SANITIZE} $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  add_compile_definitions(XSP_SANITIZED)
endif()
set(XSP_SANITIZER_DEFAULTS "")  # a source for programs that load frameworks
if(XSP_SANITIZE MATCHES "address")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The folder has an assembler that leaves out what is guarded for nothing. ccache takes its text into account.
    add_compile_options("-B${CMAKE_SOURCE_DIR}/cmake/sanitize")
    set(ccache_settings "CCACHE_EXTRAFILES=${CMAKE_SOURCE_DIR}/cmake/sanitize/as")
  endif()
  set(XSP_SANITIZER_DEFAULTS "${CMAKE_SOURCE_DIR}/src/process/worker/sanitizer_main.cc")
endif()
if(XSP_FUZZ)
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Paths are relative to the source tree, so that a second checkout can use the first one's cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${ccache_settings}
      ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# The build tree has the shape of the installed one, so that programs find their parts in the same way.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
set(CMAKE_BUILD_RPATH "$ORIGIN/../lib")

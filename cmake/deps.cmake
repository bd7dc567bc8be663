# Imported targets for the packages that tools/deps.sh installed: duckdb, onnxruntime (headers; the adapter loads the
# library at run time), and Debian's libraries.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(XSP_DEPS "$ENV{XDG_CACHE_HOME}/xsp/deps" CACHE PATH "Where tools/deps.sh unpacked")
else()
  set(XSP_DEPS "$ENV{HOME}/.cache/xsp/deps" CACHE PATH "Where tools/deps.sh unpacked")
endif()

# xsp_dep(NAME OUT) sets OUT to the folder of a line of tools/deps.lock; stops the configuration if it is absent.
function(xsp_dep name out)
  file(STRINGS "${CMAKE_SOURCE_DIR}/tools/deps.lock" line REGEX "^${name} ")
  string(REGEX REPLACE " +" ";" fields "${line}")
  list(GET fields 3 version)
  set(folder "${XSP_DEPS}/${name}-${version}")
  if(NOT EXISTS "${folder}/.complete")
    message(FATAL_ERROR "${name} ${version} is not in ${XSP_DEPS}: run tools/deps.sh")
  endif()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tools/deps.lock")

find_package(Threads REQUIRED)
if(CMAKE_CROSSCOMPILING AND XSP_TESTS)
  # Debian has its sources for every architecture.
  add_subdirectory(/usr/src/googletest "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
elseif(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
endif()
# The library that unwinds stacks of compiled code. It is used where it has a description of the processor's registers.
add_library(unwinder INTERFACE)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT CMAKE_CROSSCOMPILING)
  xsp_dep(libunwind libunwind)
  target_include_directories(unwinder SYSTEM INTERFACE "${libunwind}/include")
  target_link_libraries(unwinder INTERFACE "${libunwind}/lib/libunwind-x86_64.a" "${libunwind}/lib/libunwind.a")
  target_compile_definitions(unwinder INTERFACE XSP_HAS_UNWINDER)
endif()
# MLPerf LoadGen's sources, as a static library. Its authors' warnings are theirs.
xsp_dep(loadgen loadgen)
add_library(loadgen STATIC
  "${loadgen}/source/early_stopping.cc" "${loadgen}/source/issue_query_controller.cc" "${loadgen}/source/loadgen.cc"
  "${loadgen}/source/logging.cc" "${loadgen}/source/results.cc" "${loadgen}/source/test_settings_internal.cc"
  "${loadgen}/source/utils.cc" "${loadgen}/source/version.cc" "${loadgen}/source/generated/version_generated.cc")
target_compile_options(loadgen PRIVATE -w)
target_include_directories(loadgen SYSTEM PUBLIC "${loadgen}/source")
target_link_libraries(loadgen PUBLIC Threads::Threads)
if(XSP_CAPTURE_ONLY)
  return()
endif()
# These libraries are linked statically: the installed tree uses none of the machine's.
find_library(libyaml NAMES libyaml-cpp.a REQUIRED)
add_library(yaml INTERFACE)
target_link_libraries(yaml INTERFACE "${libyaml}")
find_library(libz NAMES libz.a REQUIRED)
add_library(zlib INTERFACE)
target_link_libraries(zlib INTERFACE "${libz}")
find_package(simdjson REQUIRED)
if(XSP_FUZZ)
  return()
endif()
find_package(benchmark REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)

xsp_dep(duckdb-lib duckdb_lib)
xsp_dep(duckdb-header duckdb_header)
set(libduckdb "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libduckdb.so")
if(NOT EXISTS "${libduckdb}")
  file(MAKE_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
  file(CREATE_LINK "${duckdb_lib}/package/libduckdb.so" "${libduckdb}" SYMBOLIC)
endif()
add_library(duckdb SHARED IMPORTED)
set_target_properties(duckdb PROPERTIES IMPORTED_LOCATION "${libduckdb}" IMPORTED_NO_SONAME ON)
target_include_directories(duckdb SYSTEM INTERFACE
  "${duckdb_header}/package/src/duckdb/src/include")
install(FILES "${duckdb_lib}/package/libduckdb.so" DESTINATION lib)

# CLI11's functions are compiled once, here. As inline functions, they would take half of the time to compile each verb.
xsp_dep(cli11 cli11)
set(cli11_source "")
foreach(part App Argv Config Encoding Formatter Option Split StringTools Validators)
  string(APPEND cli11_source "#include <CLI/impl/${part}_inl.hpp>\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/cli11.cc" CONTENT "${cli11_source}")
add_library(cli11 STATIC "${CMAKE_BINARY_DIR}/generated/cli11.cc")
target_compile_definitions(cli11 PUBLIC CLI11_COMPILE)
target_compile_options(cli11 PRIVATE -w)
target_include_directories(cli11 SYSTEM PUBLIC "${cli11}/usr/include")

# HTTP is only a server that listens on a socket: no TLS, no client proxies.
xsp_dep(httplib httplib)
add_library(httplib INTERFACE)
target_include_directories(httplib SYSTEM INTERFACE "${httplib}/include")
target_link_libraries(httplib INTERFACE Threads::Threads)

# Imported targets for what tools/deps.sh installed: duckdb, onnxruntime (headers; the adapter loads
# the library at run time), and Debian's libraries.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(XSP_DEPS "$ENV{XDG_CACHE_HOME}/xsp/deps" CACHE PATH "Where tools/deps.sh unpacked")
else()
  set(XSP_DEPS "$ENV{HOME}/.cache/xsp/deps" CACHE PATH "Where tools/deps.sh unpacked")
endif()

# xsp_dep(NAME OUT): the folder of a line of tools/deps.lock; stops the configuration if it is absent.
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
  # Debian has it as sources for every architecture.
  add_subdirectory(/usr/src/googletest "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
elseif(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
endif()
if(XSP_FUZZ OR XSP_CAPTURE_ONLY)
  return()
endif()
find_package(benchmark REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
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

# Of HTTP no more than a server that listens on a socket: no TLS, no client's proxies.
xsp_dep(httplib httplib)
add_library(httplib INTERFACE)
target_include_directories(httplib SYSTEM INTERFACE "${httplib}/include")
target_link_libraries(httplib INTERFACE Threads::Threads)
# Linked in whole: the installed tree takes none of the machine's.
find_library(libz NAMES libz.a REQUIRED)
add_library(zlib INTERFACE)
target_link_libraries(zlib INTERFACE "${libz}")

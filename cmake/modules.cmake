# There is one function for each kind of target. Sources are found by folder, so a new file needs no edit here.
include(GoogleTest)

# xsp_use_places(TARGET) lets the target use tests/places.h.
function(xsp_use_places target)
  if(NOT TARGET xsp_places)
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/places.c" @ONLY CONTENT
"// The paths that tests/places.h declares.
const char* const xsp_source_folder = \"@CMAKE_SOURCE_DIR@\";
const char* const xsp_build_folder = \"@CMAKE_BINARY_DIR@\";
")
    add_library(xsp_places STATIC "${CMAKE_BINARY_DIR}/generated/places.c")
    target_include_directories(xsp_places PUBLIC "${CMAKE_SOURCE_DIR}")
  endif()
  target_link_libraries(${target} PRIVATE xsp_places)
endfunction()

# A test takes three of the places that ctest has (test.sh gives it four a processor). One that mostly waits takes one,
# so that others run meanwhile. The cost lets it begin after those that do not wait: else those that wait would take
# the places one by one, and three are seldom free at once.
set(XSP_PLACES_OF_A_TEST 3)
set(XSP_COST_OF_A_TEST 1)
# Suites that take over 20 s begin before all others: else the last of them would run while the other processors idle.
# Each is divided into parts, which run at once, and of which none comes near the time limit on a slow machine.
set(XSP_COST_OF_A_LONG_TEST 2)
set(XSP_PARTS_OF_A_LONG_SUITE 4)
set(XSP_LONG_SUITES "^(Analyses/Golden|Seeds/MadePrograms|Random/RandomNumbers|MadeUp/FixtureNumbers|DatabaseTest|"
  "Compare|Verbs|ModelsVerb|CompareSteps|Oracle)[.]")
string(JOIN "" XSP_LONG_SUITES ${XSP_LONG_SUITES})

# xsp_weigh_tests(WAITING...) gives the folder's tests their places. It stands behind all of them.
function(xsp_weigh_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    if(NOT test IN_LIST ARGN)
      set_tests_properties(${test} PROPERTIES PROCESSORS ${XSP_PLACES_OF_A_TEST})
      get_test_property(${test} COST cost)
      if(NOT cost)
        set_tests_properties(${test} PROPERTIES COST ${XSP_COST_OF_A_TEST})
      endif()
    endif()
  endforeach()
endfunction()

# xsp_test(NAME [CASES] [WAITING SUITES...] [LONG SUITES...] [LABEL L] SOURCES... LIBRARIES...) adds a GoogleTest
# program whose suites are CTest tests; with CASES, each of its cases is one, and so has a process of its own. The cases
# of the suites that are named WAITING mostly wait; those of suites that are named LONG take long.
function(xsp_test name)
  cmake_parse_arguments(arg "CASES" "LABEL" "SOURCES;LIBRARIES;WAITING;LONG" ${ARGN})
  if(NOT XSP_TESTS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE xsp_flags ${arg_LIBRARIES} GTest::gtest GTest::gtest_main)
  xsp_group_tests(${name} ${arg_SOURCES})
  xsp_use_places(${name})
  target_compile_definitions(${name} PRIVATE XSP_VERSION="${PROJECT_VERSION}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(CMAKE_CROSSCOMPILING)
    # All tests run in one process of the emulator. Tests that take minutes there and do not depend on the processor are
    # left out.
    target_compile_definitions(${name} PRIVATE XSP_EMULATED)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1
      --gtest_filter=-Oracle.*:Reader.MemoryIsBoundedWhateverTheFileClaims)
    set_tests_properties(${name} PROPERTIES TIMEOUT 1800 PROCESSORS ${XSP_PLACES_OF_A_TEST})
    return()
  endif()
  if(arg_CASES)
    list(TRANSFORM arg_WAITING APPEND ".*")
    list(JOIN arg_WAITING ":" waiting)
    list(TRANSFORM arg_LONG APPEND ".*")
    list(JOIN arg_LONG ":" long)
    set(discovery DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 300)  # seconds: the machine may be busy
    gtest_discover_tests(${name} ${discovery} TEST_FILTER "-${waiting}:${long}"
      PROPERTIES TIMEOUT 1800 PROCESSORS ${XSP_PLACES_OF_A_TEST} COST ${XSP_COST_OF_A_TEST} LABELS "${arg_LABEL}")
    if(long)
      gtest_discover_tests(${name} ${discovery} TEST_FILTER "${long}"
        PROPERTIES TIMEOUT 1800 PROCESSORS ${XSP_PLACES_OF_A_TEST} COST ${XSP_COST_OF_A_LONG_TEST}
        LABELS "${arg_LABEL}")
    endif()
    if(waiting)
      gtest_discover_tests(${name} ${discovery} TEST_FILTER "${waiting}"
        PROPERTIES TIMEOUT 1800 COST 0 LABELS "${arg_LABEL}")
    endif()
    return()
  endif()
  set(include "${CMAKE_BINARY_DIR}/generated/suites/${name}.cmake")
  file(WRITE "${include}" "set(xsp_program \"${CMAKE_BINARY_DIR}/tests/${name}\")
set(xsp_label \"${arg_LABEL}\")
set(xsp_places ${XSP_PLACES_OF_A_TEST})
set(xsp_cost ${XSP_COST_OF_A_TEST})
set(xsp_long \"${XSP_LONG_SUITES}\")
set(xsp_long_cost ${XSP_COST_OF_A_LONG_TEST})
set(xsp_long_parts ${XSP_PARTS_OF_A_LONG_SUITE})
include(\"${CMAKE_SOURCE_DIR}/cmake/suites.cmake\")
")
  set_property(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()

# xsp_group(TARGET SOURCES...) lets a folder's sources be compiled together, at most ten at a time, if XSP_GROUPED is
# on: each header is read once for all of them. A name in an anonymous namespace stands once in such a folder: an
# overload would also take calls of other sources (tests/integration/same_program.sh looks for that). Folders of
# drop-ins are not grouped: names there are free.
function(xsp_group target)
  if(XSP_GROUPED)
    xsp_group_sources(${target} ${ARGN})
  endif()
endfunction()

# xsp_group_tests(TARGET SOURCES...) does so with a program's tests if XSP_GROUPED_TESTS is on. No test compares such a
# program with one whose sources are compiled apart.
function(xsp_group_tests target)
  set(grouped "")
  foreach(source ${ARGN})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE name)
    if(name MATCHES "^(src|tests)/|/shared/|^(formats|adapters|collectors)/[^/]+/")
      list(APPEND grouped "${source}")
    endif()
  endforeach()
  if(XSP_GROUPED_TESTS AND grouped)
    xsp_group_sources(${target} ${grouped})
  endif()
endfunction()

# xsp_group_sources(TARGET SOURCES...) compiles the sources of a folder together; the functions above decide when.
function(xsp_group_sources target)
  set(number 0)
  foreach(source ${ARGN})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH folder)
    math(EXPR part "${number} / 10")
    math(EXPR number "${number} + 1")
    string(MAKE_C_IDENTIFIER "${folder}_${part}" group)
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # In a group, g++ takes a source's own types for those of a header.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# xsp_less_optimised(TARGET) compiles the target sooner if XSP_QUICK is on. The half in the profiled process does not
# use it, so what a quick build measures is what other builds measure.
function(xsp_less_optimised target)
  if(XSP_QUICK)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# xsp_module(NAME FOLDER F DEPENDS MODULES... PRIVATE LIBRARIES...) adds a static library of the folder's sources, and
# one test program of its *_test.cc. If FOLDER/module.cmake exists, it is included after the target exists; it may set
# XSP_TEST_LIBRARIES to the libraries that the tests link besides the module.
function(xsp_module name)
  set(XSP_TEST_LIBRARIES "")
  cmake_parse_arguments(arg "" "FOLDER" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${arg_FOLDER}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/src/process/(record|watch|sample)/")  # see src/process/module.cmake
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|[/_]main)\\.cc$")
  list(TRANSFORM arg_DEPENDS PREPEND xsp_ OUTPUT_VARIABLE modules)
  if(sources)
    add_library(xsp_${name} STATIC ${sources})
    target_link_libraries(xsp_${name} PUBLIC ${modules} PRIVATE xsp_flags ${arg_PRIVATE})
    target_include_directories(xsp_${name} PUBLIC
      "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}")
    set(grouped ${sources})
    if(NOT arg_FOLDER MATCHES "^(src/desk/|src/shared/|formats$)")
      list(FILTER grouped INCLUDE REGEX "/shared/")
    endif()
    xsp_group(xsp_${name} ${grouped})
    if(NOT arg_FOLDER MATCHES "^(src/(shared|process)/?|pipelines$)")
      xsp_less_optimised(xsp_${name})
    endif()
    if(EXISTS "${CMAKE_SOURCE_DIR}/${arg_FOLDER}/module.cmake")
      include("${CMAKE_SOURCE_DIR}/${arg_FOLDER}/module.cmake")
    endif()
  else()
    add_library(xsp_${name} INTERFACE)
    target_link_libraries(xsp_${name} INTERFACE ${modules})
    target_include_directories(xsp_${name} INTERFACE
      "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}")
  endif()
  if(tests AND NOT XSP_FUZZ)
    xsp_test(${name}_test SOURCES ${tests} LIBRARIES xsp_${name} ${arg_PRIVATE} ${XSP_TEST_LIBRARIES})
  endif()
endfunction()

# xsp_collect(MODULE TYPE PLURAL HEADER) lets the module's folder be a list of drop-ins: each MODULE/NAME.cc defines
# NAME_PLURAL(), which returns some TYPEs, and the generated all_PLURAL() returns those of all files, ordered by name.
# HEADER declares TYPE, which has a member `name`, and all_PLURAL(). A module.cmake calls this function.
function(xsp_collect module type plural header)
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${module}/*.cc")
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  set(declarations "")
  set(calls "")
  foreach(file ${files})
    get_filename_component(name "${file}" NAME_WE)
    string(APPEND declarations "std::vector<${type}> ${name}_${plural}();\n")
    string(APPEND calls "    ${name}_${plural}(),\n")
  endforeach()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/all_${plural}.cc" @ONLY CONTENT
"// Generated from the names of @module@/*.cc.
#include <algorithm>
#include <vector>

#include \"@header@\"

namespace xsp::@module@ {

@declarations@
std::vector<@type@> all_@plural@() {
  std::vector<@type@> all;
  for (const std::vector<@type@>& some : {
@calls@  }) {
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end(), [](const @type@& a, const @type@& b) { return a.name < b.name; });
  return all;
}

}  // namespace xsp::@module@
")
  target_sources(xsp_${module} PRIVATE "${CMAKE_BINARY_DIR}/generated/all_${plural}.cc")
endfunction()

# xsp_program(NAME FOLDER F DEPENDS MODULES...) builds the folder's sources as build/PRESET/bin/NAME. Its tests have the
# same objects, without main.cc.
function(xsp_program name)
  cmake_parse_arguments(arg "" "FOLDER" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${arg_FOLDER}/*.cc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  list(TRANSFORM arg_DEPENDS PREPEND xsp_ OUTPUT_VARIABLE modules)
  add_library(${name}_cli OBJECT ${sources})
  target_link_libraries(${name}_cli
    PUBLIC ${modules} fmt::fmt nlohmann_json::nlohmann_json cli11 PRIVATE xsp_flags)
  target_compile_definitions(${name}_cli PRIVATE XSP_VERSION="${PROJECT_VERSION}")
  xsp_group(${name}_cli ${sources})
  xsp_less_optimised(${name}_cli)
  add_executable(${name} "${CMAKE_SOURCE_DIR}/${arg_FOLDER}/main.cc")
  target_link_libraries(${name} PRIVATE xsp_flags ${name}_cli)
  target_compile_definitions(${name} PRIVATE XSP_VERSION="${PROJECT_VERSION}")
  install(TARGETS ${name} DESTINATION bin)
  if(tests)
    xsp_test(${name}_cli_test SOURCES ${tests} LIBRARIES ${name}_cli)
  endif()
endfunction()

# xsp_plugins(FOLDER [NAME]) builds each FOLDER/NAME.cc, and FOLDER/NAME/*.cc if there are any, as
# lib/xsp/FOLDER/NAME.so. If FOLDER/NAME.cmake exists, it is included after the target exists; it may find libraries, or
# set XSP_SKIP to the reason why the plugin cannot be built here. FOLDER/NAME.get says how `xsp doctor --install NAME`
# gets its framework.
function(xsp_plugins folder)
  set(name "*")
  if(ARGC GREATER 1)
    set(name "${ARGV1}")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/${name}.cc")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  foreach(source ${sources})
    get_filename_component(plugin "${source}" NAME_WE)
    set(target ${folder}_${plugin})
    set(XSP_SKIP "")
    set(absent "${CMAKE_BINARY_DIR}/lib/xsp/${folder}/${plugin}.absent")
    file(GLOB parts CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/${plugin}/*.cc")
    list(FILTER parts EXCLUDE REGEX "_test\\.cc$")
    add_library(${target} MODULE "${source}" ${parts})
    target_link_libraries(${target} PRIVATE xsp_flags xsp_annotate)
    target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}")
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${plugin}
      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/xsp/${folder}"
      BUILD_RPATH "$ORIGIN/../../../lib" INSTALL_RPATH "$ORIGIN/../..")
    include("${CMAKE_SOURCE_DIR}/${folder}/${plugin}.cmake" OPTIONAL)
    if(XSP_SKIP)
      message(STATUS "${folder}/${plugin}: skipped: ${XSP_SKIP}")
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
      # `xsp doctor` tells the reason.
      file(WRITE "${absent}" "${XSP_SKIP}\n")
      install(FILES "${absent}" DESTINATION lib/xsp/${folder})
    else()
      file(REMOVE "${absent}")
      install(TARGETS ${target} DESTINATION lib/xsp/${folder})
      set_property(GLOBAL APPEND PROPERTY xsp_plugins ${target})
    endif()
  endforeach()
endfunction()

# xsp_frameworks(FOLDER) puts the tables FOLDER/NAME.get, the script that reads them, and the helpers
# FOLDER/NAME_local.py, with what they share, where the program finds them.
function(xsp_frameworks folder)
  file(GLOB tables CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.get")
  set(script "${CMAKE_SOURCE_DIR}/tools/get_framework.sh")
  file(COPY ${tables} "${script}" DESTINATION "${CMAKE_BINARY_DIR}/lib/xsp/${folder}")
  install(FILES ${tables} DESTINATION lib/xsp/${folder})
  install(PROGRAMS "${script}" DESTINATION lib/xsp/${folder})
  file(GLOB helpers CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*_local.py"
    "${CMAKE_SOURCE_DIR}/${folder}/local.py")
  foreach(helper ${helpers})
    get_filename_component(name "${helper}" NAME)
    file(CREATE_LINK "${helper}" "${CMAKE_BINARY_DIR}/lib/xsp/${folder}/${name}" SYMBOLIC)
  endforeach()
  install(PROGRAMS ${helpers} DESTINATION lib/xsp/${folder})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tables} "${script}")
endfunction()

# xsp_catalogue() compiles the text of every analyses/*.sql and of their rules, analyses/NAME/*.sql, into the analyze
# module.
function(xsp_catalogue)
  file(GLOB sql CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/analyses/*.sql" "${CMAKE_SOURCE_DIR}/analyses/*/*.sql")
  set(output "${CMAKE_BINARY_DIR}/generated/catalogue.cc")
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFOLDER=${CMAKE_SOURCE_DIR}/analyses" "-DSQL=${sql}"
      -P "${CMAKE_SOURCE_DIR}/cmake/embed_catalogue.cmake"
    DEPENDS ${sql} "${CMAKE_SOURCE_DIR}/cmake/embed_catalogue.cmake" VERBATIM)
  get_target_property(type xsp_analyze TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_sources(xsp_analyze PRIVATE "${output}")
  endif()
endfunction()

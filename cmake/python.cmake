# xsp_python() builds the Python package as it lies in an installed tree: build/PRESET/lib/xsp/python. Its sources are
# links, so that an edit needs no build. Without Python's headers there is no package, and `xsp run` sees no modules.
function(xsp_python)
  set(folder "${CMAKE_BINARY_DIR}/lib/xsp/python")
  find_package(Python3 3.8 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT Python3_Development.Module_FOUND)
    message(STATUS "python: skipped: Python's headers were not found: install python3-dev")
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/python"
    "${CMAKE_SOURCE_DIR}/python/start/*.py" "${CMAKE_SOURCE_DIR}/python/xsp/*.py"
    "${CMAKE_SOURCE_DIR}/python/xsp/py.typed")
  foreach(source ${sources})
    get_filename_component(part "${source}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}/${part}")
    file(CREATE_LINK "${CMAKE_SOURCE_DIR}/python/${source}" "${folder}/${source}" SYMBOLIC)
    install(FILES "${CMAKE_SOURCE_DIR}/python/${source}" DESTINATION "lib/xsp/python/${part}")
  endforeach()
  # The module uses the stable ABI: it works with every Python from 3.8 on, whatever headers it was built with.
  file(GLOB_RECURSE native_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/python/xsp/*.c")
  add_library(xsp_python_native MODULE ${native_sources})
  target_include_directories(xsp_python_native PRIVATE "${CMAKE_SOURCE_DIR}/python/xsp")
  target_include_directories(xsp_python_native SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
  target_link_libraries(xsp_python_native PRIVATE xsp_flags xsp_annotate)
  set_target_properties(xsp_python_native PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY "${folder}/xsp"
    BUILD_RPATH "$ORIGIN/../../.."
    # In a wheel the package contains the tree, otherwise the tree contains the package.
    INSTALL_RPATH "$ORIGIN/../../..:$ORIGIN/tree/lib")
  install(TARGETS xsp_python_native DESTINATION lib/xsp/python/xsp)
  # These sources need no Python.
  set(tested ${native_sources})
  list(FILTER tested INCLUDE REGEX "/(calls|operators|tape|values)\\.c$")
  xsp_test(python_test SOURCES "${CMAKE_SOURCE_DIR}/python/xsp/watch/torch/operators_test.cc" ${tested}
    LIBRARIES xsp_annotate)
  if(TARGET python_test)
    target_include_directories(python_test PRIVATE "${CMAKE_SOURCE_DIR}/python/xsp")
  endif()
endfunction()

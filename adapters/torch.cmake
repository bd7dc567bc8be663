# PyTorch's C++ libraries, of any version: -DXSP_TORCH=FOLDER, $XSP_TORCH, python3's package, or Debian's. FOLDER holds
# include/ and lib/, as the Python package torch does. XSP_TORCH=OFF leaves the adapter out.
if(COMMAND xsp_plugins)
  # The installed tree has the sources to build this adapter against another PyTorch.
  install(FILES adapters/torch.cc adapters/torch.cmake DESTINATION lib/xsp/adapters/src/adapters)
  install(DIRECTORY adapters/torch DESTINATION lib/xsp/adapters/src/adapters PATTERN "*_test.cc" EXCLUDE)
  install(PROGRAMS tools/build_torch_adapter.sh DESTINATION lib/xsp/adapters/src)
  install(PROGRAMS tools/export_torch.py DESTINATION lib/xsp/adapters/src/tools)
  install(DIRECTORY tools/recipes tools/networks DESTINATION lib/xsp/adapters/src/tools PATTERN "__pycache__" EXCLUDE)
  file(GLOB torch_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/adapters/torch/*_test.cc")
  list(FILTER torch_tests EXCLUDE REGEX "/(reuse|weights)_test\\.cc$")
  xsp_test(adapters_torch_test LIBRARIES xsp_annotate
    SOURCES ${torch_tests} "${CMAKE_SOURCE_DIR}/adapters/torch/long_run.cc"
    "${CMAKE_SOURCE_DIR}/adapters/torch/modules.cc"
    "${CMAKE_SOURCE_DIR}/adapters/torch/signature.cc")
  if(TARGET adapters_torch_test)
    target_include_directories(adapters_torch_test PRIVATE "${CMAKE_SOURCE_DIR}")
  endif()
endif()
set(XSP_TORCH "$ENV{XSP_TORCH}" CACHE STRING "PyTorch's folder, with include/ and lib/; OFF: no adapter for it")
set(torch_folder "${XSP_TORCH}")
if("${XSP_TORCH}" STREQUAL "")
  # The package is found without running it, because importing torch takes seconds.
  execute_process(OUTPUT_VARIABLE torch_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET COMMAND python3 -c
    "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')")
endif()
set(torch_cpu_library torch_cpu_library-NOTFOUND)
if(torch_folder OR NOT "${XSP_TORCH}" STREQUAL "")
  find_library(torch_cpu_library NAMES torch_cpu PATHS "${torch_folder}/lib" NO_DEFAULT_PATH NO_CACHE)
  set(torch_include "${torch_folder}/include")
else()
  find_library(torch_cpu_library NAMES torch_cpu NO_CACHE)
  find_path(torch_include NAMES ATen/record_function.h NO_CACHE)
endif()

if(NOT torch_cpu_library OR NOT EXISTS "${torch_include}/ATen/record_function.h")
  set(XSP_SKIP "no PyTorch with headers: pip install torch, or apt-get install libtorch-dev, or -DXSP_TORCH=FOLDER")
  return()
endif()
get_filename_component(torch_libraries "${torch_cpu_library}" DIRECTORY)
target_include_directories(${target} SYSTEM PRIVATE
  "${torch_include}" "${torch_include}/torch/csrc/api/include")
find_library(torch_c10_library NAMES c10 PATHS "${torch_libraries}" NO_DEFAULT_PATH NO_CACHE)
target_link_libraries(${target} PRIVATE "${torch_cpu_library}" "${torch_c10_library}" ${CMAKE_DL_LIBS})

# Without NDEBUG torch's classes have more members; its libraries are built with it.
target_compile_definitions(${target} PRIVATE NDEBUG)
# Older wheels use the C++ library's old ABI: their strings are not std::__cxx11::basic_string.
file(STRINGS "${torch_c10_library}" torch_new_abi REGEX "__cxx11" LIMIT_COUNT 1)
if(NOT torch_new_abi)
  target_compile_definitions(${target} PRIVATE _GLIBCXX_USE_CXX11_ABI=0)
endif()

# Capturing CUDA graphs needs CUDA's headers: the toolkit's, or those of the wheels beside torch's.
set(torch_has_cuda 0)
find_library(torch_cuda_library NAMES torch_cuda PATHS "${torch_libraries}" NO_DEFAULT_PATH NO_CACHE)
find_library(torch_c10_cuda_library NAMES c10_cuda PATHS "${torch_libraries}" NO_DEFAULT_PATH NO_CACHE)
file(GLOB torch_wheels "${torch_folder}/../nvidia/cu*/include" "${torch_folder}/../nvidia/cuda_runtime/include")
find_path(torch_cuda_include NAMES cuda_runtime_api.h NO_CACHE
  PATHS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include ${torch_wheels})
# Some of them come only with the compiler: pip install nvidia-cuda-crt.
if(torch_cuda_include AND NOT EXISTS "${torch_cuda_include}/crt/host_config.h")
  message(STATUS "adapters/torch: ${torch_cuda_include} lacks crt/: pip install nvidia-cuda-crt for CUDA graphs")
  set(torch_cuda_include torch_cuda_include-NOTFOUND)
endif()
if(torch_cuda_library AND torch_c10_cuda_library AND torch_cuda_include)
  set(torch_has_cuda 1)
  target_include_directories(${target} SYSTEM PRIVATE "${torch_cuda_include}")
  target_link_libraries(${target} PRIVATE "${torch_cuda_library}" "${torch_c10_cuda_library}")
endif()
target_compile_definitions(${target} PRIVATE XSP_TORCH_HAS_CUDA=${torch_has_cuda})
# The wheels' libraries find NVIDIA's by their own paths, which the linker need not follow.
target_link_options(${target} PRIVATE -Wl,--allow-shlib-undefined)
# By default torch is found where the adapter was built against it; LD_LIBRARY_PATH comes first, for a torch that moved.
set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "${torch_libraries}")
set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${torch_libraries}")
message(STATUS "adapters/torch: ${torch_cpu_library}, CUDA graphs: ${torch_has_cuda}")

if(COMMAND xsp_plugins AND XSP_TESTS AND torch_new_abi)
  # The tests that need torch. GoogleTest has the new ABI.
  set(torch_tests reuse_test.cc reuse.cc weights_test.cc weights.cc)
  list(TRANSFORM torch_tests PREPEND "${CMAKE_SOURCE_DIR}/adapters/torch/")
  xsp_test(adapters_torch_libtorch_test SOURCES ${torch_tests} LIBRARIES "${torch_cpu_library}" "${torch_c10_library}")
  target_include_directories(adapters_torch_libtorch_test PRIVATE "${CMAKE_SOURCE_DIR}")
  target_include_directories(adapters_torch_libtorch_test SYSTEM PRIVATE
    "${torch_include}" "${torch_include}/torch/csrc/api/include")
  target_compile_definitions(adapters_torch_libtorch_test PRIVATE NDEBUG)
endif()
if(COMMAND xsp_plugins AND XSP_TESTS)
  # A library of operators for tests/contract: an example of a user's own library.
  add_library(torch_test_operators MODULE "${CMAKE_SOURCE_DIR}/tests/data/torch/twice.cc")
  target_link_libraries(torch_test_operators PRIVATE xsp_flags "${torch_cpu_library}" "${torch_c10_library}")
  target_include_directories(torch_test_operators SYSTEM PRIVATE
    "${torch_include}" "${torch_include}/torch/csrc/api/include")
  target_compile_definitions(torch_test_operators PRIVATE NDEBUG)
  if(NOT torch_new_abi)
    target_compile_definitions(torch_test_operators PRIVATE _GLIBCXX_USE_CXX11_ABI=0)
  endif()
  set_target_properties(torch_test_operators PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_dependencies(${target} torch_test_operators)
endif()

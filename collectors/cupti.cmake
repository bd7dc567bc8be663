# CUPTI, for NVIDIA's GPUs. The build needs its headers but links nothing of CUDA: the collector loads the library at
# run time, if it exists.
if(NOT XSP_CUDA_HEADERS)
  set(XSP_SKIP "built without NVIDIA's headers: tools/deps.sh --build, and build with the preset release")
  return()
endif()
xsp_dep(cuda-cupti cuda_cupti)
xsp_dep(cuda-runtime cuda_runtime)
xsp_dep(cuda-crt cuda_crt)
set(cuda_headers "${cuda_cupti}/nvidia/cu13/include" "${cuda_runtime}/nvidia/cu13/include"
  "${cuda_crt}/nvidia/cu13/include")
target_include_directories(${target} SYSTEM PRIVATE ${cuda_headers})
target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

# A fake CUPTI and a fake driver that do what a test tells them, so that the collector can be tested on machines without
# a GPU. They have the names of the real ones, in folders of their own.
function(xsp_fake_cuda name source folder soname)
  add_library(${name} SHARED "${CMAKE_SOURCE_DIR}/collectors/cupti/fake/${source}")
  target_include_directories(${name} SYSTEM PRIVATE ${cuda_headers})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE xsp_flags)
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME ${soname} SUFFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/${folder}")
  target_link_options(${name} PRIVATE "-Wl,-soname,${soname}")
endfunction()

if(XSP_TESTS)
  xsp_fake_cuda(fake_cupti cupti.cc fake_cuda libcupti.so.13)
  xsp_fake_cuda(fake_driver driver.cc fake_cuda libcuda.so.1)
  xsp_fake_cuda(fake_cupti_old cupti.cc fake_cuda_old libcupti.so.11)
  target_compile_definitions(fake_cupti_old PRIVATE FAKE_OLD)
  # A program that uses the fakes, for the tests of `xsp run`.
  add_executable(fake_cuda_program "${CMAKE_SOURCE_DIR}/collectors/cupti/fake/program.cc")
  target_include_directories(fake_cuda_program SYSTEM PRIVATE ${cuda_headers})
  target_include_directories(fake_cuda_program PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(fake_cuda_program PRIVATE xsp_flags xsp_annotate ${CMAKE_DL_LIBS})
  xsp_use_places(fake_cuda_program)
  set_target_properties(fake_cuda_program PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/fake_cuda")
  add_dependencies(fake_cuda_program fake_cupti fake_driver)

  file(GLOB cupti_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/collectors/cupti/*_test.cc")
  list(FILTER cupti_tests EXCLUDE REGEX "/counting_")  # these load the real CUPTI
  xsp_test(collectors_cupti_test LABEL threads SOURCES ${cupti_tests} $<TARGET_OBJECTS:${target}>
    "${CMAKE_SOURCE_DIR}/tests/gpu/recorded.cc"
    LIBRARIES xsp_annotate xsp_correlate ${CMAKE_DL_LIBS})
  target_include_directories(collectors_cupti_test SYSTEM PRIVATE ${cuda_headers})
  add_dependencies(collectors_cupti_test ${target} fake_cupti fake_cupti_old fake_driver xsp-worker)
endif()

# Tests of counting: against the chips that CUPTI knows without a GPU, and against a fake of its profiler.
file(GLOB counting_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/collectors/cupti/counting_*_test.cc")
xsp_test(collectors_counting_test SOURCES ${counting_tests} $<TARGET_OBJECTS:${target}> "tests/gpu/recorded.cc"
  LIBRARIES xsp_annotate xsp_correlate Threads::Threads ${CMAKE_DL_LIBS})
if(TARGET collectors_counting_test)
  target_include_directories(collectors_counting_test SYSTEM PRIVATE ${cuda_headers})
  target_include_directories(collectors_counting_test PRIVATE
    "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}")
  target_compile_definitions(collectors_counting_test PRIVATE
    XSP_CUPTI_FOLDER="${cuda_cupti}/nvidia/cu13/lib")
endif()

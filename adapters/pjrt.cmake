# XLA by PJRT's C interface: the build needs a header; the plugin is loaded at run time (adapters/pjrt/plugin.h).
xsp_dep(pjrt-header pjrt_header)
target_include_directories(${target} SYSTEM PRIVATE "${pjrt_header}/xla_plugins/xla_cpu_pjrt/include")
# The header is C: in C++, a member may not have the name of its type. This option makes it a warning, and -Werror still
# rejects it in our code.
set(pjrt_options -fpermissive)
target_compile_options(${target} PRIVATE ${pjrt_options})
target_link_libraries(${target} PRIVATE xsp_formats ${CMAKE_DL_LIBS})
file(GLOB pjrt_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/adapters/pjrt/*_test.cc")
xsp_test(adapters_pjrt_test SOURCES ${pjrt_tests} $<TARGET_OBJECTS:${target}>
  LIBRARIES xsp_formats xsp_annotate ${CMAKE_DL_LIBS})
if(TARGET adapters_pjrt_test)
  target_compile_options(adapters_pjrt_test PRIVATE ${pjrt_options})
  target_include_directories(adapters_pjrt_test SYSTEM PRIVATE "${pjrt_header}/xla_plugins/xla_cpu_pjrt/include")
endif()

xsp_test(collectors_cpu_test SOURCES "collectors/cpu/hardware_test.cc" LIBRARIES xsp_annotate)
if(TARGET collectors_cpu_test)
  target_include_directories(collectors_cpu_test PRIVATE "${CMAKE_SOURCE_DIR}")
endif()

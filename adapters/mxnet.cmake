# MXNet: the build needs nothing of it; its library is loaded at run time (adapters/mxnet/library.h).
target_link_libraries(${target} PRIVATE simdjson::simdjson ${CMAKE_DL_LIBS})
file(GLOB mxnet_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/adapters/mxnet/*_test.cc")
xsp_test(adapters_mxnet_test SOURCES ${mxnet_tests} $<TARGET_OBJECTS:${target}>
  LIBRARIES xsp_annotate simdjson::simdjson ${CMAKE_DL_LIBS})
if(TARGET adapters_mxnet_test)
  target_include_directories(adapters_mxnet_test PRIVATE "${CMAKE_SOURCE_DIR}")
endif()

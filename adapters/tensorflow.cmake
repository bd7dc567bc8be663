# TensorFlow: the build needs nothing of it; its library is loaded at run time (adapters/tensorflow/library.h).
target_link_libraries(${target} PRIVATE xsp_formats ${CMAKE_DL_LIBS})
file(GLOB tensorflow_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/adapters/tensorflow/*_test.cc")
xsp_test(adapters_tensorflow_test SOURCES ${tensorflow_tests} $<TARGET_OBJECTS:${target}>
  LIBRARIES xsp_formats xsp_annotate ${CMAKE_DL_LIBS})

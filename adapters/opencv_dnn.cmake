# OpenCV's module dnn: Caffe, Darknet, Torch 7, TensorFlow's frozen graphs, ONNX. It is linked, because its interface is
# C++.
find_path(opencv_include NAMES opencv2/dnn.hpp PATH_SUFFIXES opencv4 NO_CACHE)
find_library(opencv_dnn_library NAMES opencv_dnn NO_CACHE)
find_library(opencv_core_library NAMES opencv_core NO_CACHE)
file(GLOB opencv_dnn_tests CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/adapters/opencv_dnn/*_test.cc")
xsp_test(adapters_opencv_dnn_test LIBRARIES xsp_annotate
  SOURCES ${opencv_dnn_tests} "${CMAKE_SOURCE_DIR}/adapters/opencv_dnn/files.cc")
if(TARGET adapters_opencv_dnn_test)
  target_include_directories(adapters_opencv_dnn_test PRIVATE "${CMAKE_SOURCE_DIR}")
endif()
if(NOT opencv_include OR NOT opencv_dnn_library OR NOT opencv_core_library)
  set(XSP_SKIP "no OpenCV with headers: apt-get install libopencv-dnn-dev")
  return()
endif()
target_include_directories(${target} SYSTEM PRIVATE "${opencv_include}")
target_link_libraries(${target} PRIVATE xsp_formats "${opencv_dnn_library}" "${opencv_core_library}")

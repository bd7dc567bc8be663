# The evaluation that was recorded on a GPU, for the tests.
if(XSP_TESTS AND NOT XSP_FUZZ)
  set(recorded "${CMAKE_SOURCE_DIR}/tests/data/gpu/h200_resnet50.tar.xz")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${recorded}")
  file(ARCHIVE_EXTRACT INPUT "${recorded}" DESTINATION "${CMAKE_BINARY_DIR}/tests/data")
endif()

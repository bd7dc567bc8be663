# bin/xsp-worker shares one copy of libxsp.so's state with its adapter.
add_executable(xsp-worker "${CMAKE_SOURCE_DIR}/src/process/worker/main.cc"
  ${XSP_SANITIZER_DEFAULTS})
target_link_libraries(xsp-worker PRIVATE xsp_flags xsp_annotate xsp_process ${CMAKE_DL_LIBS})
install(TARGETS xsp-worker DESTINATION bin)

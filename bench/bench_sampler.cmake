file(GLOB sampler CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/process/sample/*.cc")
list(FILTER sampler EXCLUDE REGEX "_test\\.cc$")
target_sources(${name} PRIVATE ${sampler})
target_link_libraries(${name} PRIVATE xsp_trace unwinder Threads::Threads)

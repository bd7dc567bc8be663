target_link_libraries(${name} PRIVATE xsp_sample xsp_trace Threads::Threads)

target_link_libraries(${name} PRIVATE xsp_serve)

# ggml: the build needs nothing of it. `xsp doctor --install ggml` builds llama.cpp and, against its headers, the shim,
# whose source is installed with the tables.
target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
file(COPY "${CMAKE_SOURCE_DIR}/adapters/ggml/shim" DESTINATION "${CMAKE_BINARY_DIR}/lib/xsp/adapters/ggml")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/adapters/ggml/shim" DESTINATION lib/xsp/adapters/ggml)

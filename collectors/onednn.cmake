# It enters programs that know nothing of it: the C library is all that it needs.
target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)

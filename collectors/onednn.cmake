# The library is loaded into programs that know nothing of it: it may need the C library only.
target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)

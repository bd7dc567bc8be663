# OpenCL: the build needs its headers; the loader and drivers are needed at run time only.
find_path(opencl_include NAMES CL/cl_layer.h NO_CACHE)
if(NOT opencl_include)
  set(XSP_SKIP "no headers of OpenCL with layers: apt-get install opencl-headers")
  return()
endif()
target_include_directories(${target} SYSTEM PRIVATE "${opencl_include}")
# The library is loaded into programs that know nothing of it: it may need the C library only.
target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)

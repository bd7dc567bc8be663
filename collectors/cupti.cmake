# CUPTI, for NVIDIA's GPUs. Its headers are needed to build; nothing of CUDA is linked: the library is
# loaded at run time, if it is there.
xsp_dep(cuda-cupti cuda_cupti)
xsp_dep(cuda-runtime cuda_runtime)
xsp_dep(cuda-crt cuda_crt)
set(cuda_headers "${cuda_cupti}/nvidia/cu13/include" "${cuda_runtime}/nvidia/cu13/include"
  "${cuda_crt}/nvidia/cu13/include")
target_include_directories(${target} SYSTEM PRIVATE ${cuda_headers})
target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

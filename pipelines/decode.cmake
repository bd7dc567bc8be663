# The libraries are linked statically, so that the worker runs where they are not installed.
find_library(libjpeg NAMES libjpeg.a)
find_library(libpng NAMES libpng.a)
find_library(libz NAMES libz.a)
if(CMAKE_CROSSCOMPILING OR NOT libjpeg OR NOT libpng OR NOT libz)
  set(XSP_SKIP "needs libjpeg62-turbo-dev and libpng-dev")
else()
  target_link_libraries(xsp_pipelines PRIVATE "${libpng}" "${libjpeg}" "${libz}" m)
endif()

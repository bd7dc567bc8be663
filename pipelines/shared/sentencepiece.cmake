# For the steps that use SentencePiece. The tokeniser is built for this machine alone (tools/deps.sh).
if(CMAKE_CROSSCOMPILING)
  set(XSP_SKIP "its tokeniser is not built for other processors")
else()
  xsp_dep(sentencepiece sentencepiece)
  target_include_directories(xsp_pipelines SYSTEM PRIVATE "${sentencepiece}/include")
  target_link_libraries(xsp_pipelines PRIVATE "${sentencepiece}/lib/libsentencepiece.a" Threads::Threads)
endif()

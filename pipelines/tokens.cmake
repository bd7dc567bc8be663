include("${CMAKE_CURRENT_LIST_DIR}/shared/sentencepiece.cmake")

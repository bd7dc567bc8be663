# xsp_page() builds web/ as one HTML file, build/PRESET/web/index.html, which src/desk/serve/page.cc embeds.
function(xsp_page)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/web/src/*")
  list(APPEND sources "${CMAKE_SOURCE_DIR}/web/index.html" "${CMAKE_SOURCE_DIR}/web/vite.config.ts"
    "${CMAKE_SOURCE_DIR}/web/package-lock.json")
  if(NOT EXISTS "${CMAKE_SOURCE_DIR}/web/node_modules/vite")
    message(FATAL_ERROR "web/node_modules is not there: run tools/deps.sh")
  endif()
  set(page "${CMAKE_BINARY_DIR}/web/index.html")
  add_custom_command(OUTPUT "${page}"
    COMMAND npm run --silent build -- --logLevel warn --outDir "${CMAKE_BINARY_DIR}/web"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}/web" DEPENDS ${sources} VERBATIM
    COMMENT "Building the page")
  add_custom_target(xsp_page DEPENDS "${page}")

  set_source_files_properties("${CMAKE_SOURCE_DIR}/src/desk/serve/page.cc" PROPERTIES
    OBJECT_DEPENDS "${page}" COMPILE_DEFINITIONS "XSP_PAGE=\"${page}\"")
endfunction()

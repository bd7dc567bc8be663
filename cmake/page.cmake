# xsp_page() builds web/ as one HTML file, build/PRESET/web/index.html, and docs/ as another, build/PRESET/help.html.
# src/desk/serve/page.cc embeds both.
function(xsp_page)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/web/src/*")
  list(APPEND sources "${CMAKE_SOURCE_DIR}/web/index.html" "${CMAKE_SOURCE_DIR}/web/vite.config.ts"
    "${CMAKE_SOURCE_DIR}/web/package-lock.json")
  if(NOT EXISTS "${CMAKE_SOURCE_DIR}/web/node_modules/vite")
    message(FATAL_ERROR "web/node_modules is not there: run tools/deps.sh")
  endif()
  file(GLOB fetched "${XSP_DEPS}/node-*/bin")
  find_program(XSP_NODE node PATHS ${fetched} REQUIRED)
  set(page "${CMAKE_BINARY_DIR}/web/index.html")
  add_custom_command(OUTPUT "${page}"
    COMMAND "${XSP_NODE}" node_modules/vite/bin/vite.js build --logLevel warn --outDir "${CMAKE_BINARY_DIR}/web"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}/web" DEPENDS ${sources} VERBATIM
    COMMENT "Building the page")
  file(GLOB chapters CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/docs/*.md" "${CMAKE_SOURCE_DIR}/docs/img/*")
  set(help "${CMAKE_BINARY_DIR}/help.html")
  add_custom_command(OUTPUT "${help}"
    COMMAND "${XSP_NODE}" help/build.mjs "${help}"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}/web"
    DEPENDS ${chapters} "${CMAKE_SOURCE_DIR}/web/help/build.mjs" "${CMAKE_SOURCE_DIR}/web/help/help.css"
      "${CMAKE_SOURCE_DIR}/web/src/theme.css" VERBATIM
    COMMENT "Building the help")
  add_custom_target(xsp_page DEPENDS "${page}" "${help}")

  set_source_files_properties("${CMAKE_SOURCE_DIR}/src/desk/serve/page.cc" PROPERTIES
    OBJECT_DEPENDS "${page};${help}" COMPILE_DEFINITIONS "XSP_PAGE=\"${page}\";XSP_HELP=\"${help}\"")
endfunction()

# The style and the script of every page, compiled in. The colours are those of the page in web/.
set(assets "${CMAKE_BINARY_DIR}/generated/site_assets.cc")
set(folder "${CMAKE_CURRENT_SOURCE_DIR}/src/desk/site")
set(files "${CMAKE_CURRENT_SOURCE_DIR}/web/src/theme.css" "${folder}/site.css" "${folder}/site.js")
add_custom_command(OUTPUT "${assets}"
  COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" "-DNAMES=kThemeCss;kSiteCss;kSiteJs"
    "-DOUTPUT=${assets}" -P "${folder}/embed_assets.cmake"
  DEPENDS ${files} "${folder}/embed_assets.cmake" VERBATIM)
target_sources(xsp_site PRIVATE "${assets}")

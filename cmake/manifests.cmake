# xsp_manifests() puts the manifests, and the script that exports models, where the program finds both: share/xsp. The
# build tree has links, so that an edit needs no build.
function(xsp_manifests)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}"
    "${CMAKE_SOURCE_DIR}/manifests/*.yaml" "${CMAKE_SOURCE_DIR}/manifests/*.json")
  foreach(file ${files})
    get_filename_component(part "${file}" DIRECTORY)
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/share/xsp/${part}")
    file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${file}" "${CMAKE_BINARY_DIR}/share/xsp/${file}" SYMBOLIC)
    install(FILES "${file}" DESTINATION "share/xsp/${part}")
  endforeach()
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/tools/export_torch.py" "${CMAKE_BINARY_DIR}/share/xsp/export_torch.py" SYMBOLIC)
  install(PROGRAMS tools/export_torch.py DESTINATION share/xsp)
endfunction()

# xsp_manifests() puts the manifests, and the scripts that export models, where the program finds both: share/xsp. The
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
  # An exporter is a file of its own, export_FRAMEWORK.py; what several share has another name.
  file(GLOB exporters CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tools/export_*.py")
  foreach(script ${exporters} "${CMAKE_SOURCE_DIR}/tools/generation_models.py")
    get_filename_component(name "${script}" NAME)
    file(CREATE_LINK "${script}" "${CMAKE_BINARY_DIR}/share/xsp/${name}" SYMBOLIC)
    install(PROGRAMS "${script}" DESTINATION share/xsp)
  endforeach()
  foreach(folder recipes networks)
    file(CREATE_LINK "${CMAKE_SOURCE_DIR}/tools/${folder}" "${CMAKE_BINARY_DIR}/share/xsp/${folder}" SYMBOLIC)
    install(DIRECTORY "${CMAKE_SOURCE_DIR}/tools/${folder}" DESTINATION share/xsp PATTERN "__pycache__" EXCLUDE)
  endforeach()
endfunction()

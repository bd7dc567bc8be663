# `cmake --install build/release --prefix DIR` gives a relocatable tree: bin/, lib/, include/, share/.
# `cpack --config build/release/CPackConfig.cmake` packs it as xsp-VERSION-linux-x86_64.tar.gz.

# The package includes the Debian shared libraries that xsp links.
install(IMPORTED_RUNTIME_ARTIFACTS fmt::fmt simdjson::simdjson LIBRARY DESTINATION lib)
install(DIRECTORY include/xsp DESTINATION include)
install(FILES README.md LICENSE CHANGELOG.md docs/trace_format.md "${CMAKE_BINARY_DIR}/help.html"
  DESTINATION share/doc/xsp)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME "xsp-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_BINARY_DIR}")
include(CPack)

# Install rules: what a program or a plugin outside this tree needs. find_package(ostinato COMPONENTS
# core sdk cli) and pkg-config ostinato.

include(CMakePackageConfigHelpers)
set(OST_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/ostinato")

install(TARGETS ostinato_sdk EXPORT ostinatoTargets)
install(DIRECTORY sdk/include/ostinato DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET ostinato)
  install(TARGETS ostinato EXPORT ostinatoTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(EXPORT ostinatoTargets NAMESPACE ostinato:: DESTINATION "${OST_PACKAGE_DIR}")
configure_package_config_file(cmake/ostinatoConfig.cmake.in "${PROJECT_BINARY_DIR}/ostinatoConfig.cmake"
                              INSTALL_DESTINATION "${OST_PACKAGE_DIR}"
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ostinatoConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ostinatoConfig.cmake" "${PROJECT_BINARY_DIR}/ostinatoConfigVersion.cmake"
              cmake/ostinatoPlugin.cmake cmake/ostinatoLlvm.cmake cmake/plugin.map cmake/plugin.ostplugin.json.in
        DESTINATION "${OST_PACKAGE_DIR}")
# The lowering to LLVM is sources: they are compiled against the LLVM of whoever uses them.
install(DIRECTORY sdk/llvm/ DESTINATION "${OST_PACKAGE_DIR}/llvm")
configure_file(cmake/ostinato.pc.in "${PROJECT_BINARY_DIR}/ostinato.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ostinato.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# `cmake --install`, and what find_package(topos) finds afterwards.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(topos_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/topos)

install(TARGETS topos EXPORT topos
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT topos NAMESPACE topos:: FILE topos-targets.cmake
        DESTINATION ${topos_config_dir})
if(TARGET topos_cli)
  # The program finds the library beside itself, wherever the prefix goes.
  file(RELATIVE_PATH topos_library_dir
       /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(topos_cli PROPERTIES
    INSTALL_RPATH "$ORIGIN/${topos_library_dir}")
  install(TARGETS topos_cli)
endif()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/topos-config.cmake.in topos-config.cmake
  INSTALL_DESTINATION ${topos_config_dir})
# Before 1.0 a minor version may break what the one before it accepted.
write_basic_package_version_file(topos-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/topos-config.cmake
              ${PROJECT_BINARY_DIR}/topos-config-version.cmake
        DESTINATION ${topos_config_dir})
install(FILES LICENSE LICENSE-MIT LICENSE-APACHE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

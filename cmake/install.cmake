# Installs the libraries, the headers, a CMake package and a pkg-config file. After it,
# find_package(Fairlead CONFIG) gives the same target names as add_subdirectory: fairlead::core, ...
include(CMakePackageConfigHelpers)

set(fairlead_installed fairlead fairlead_core fairlead_diagnostics fairlead_io fairlead_http)
if(TARGET fairlead_redis)
  list(APPEND fairlead_installed fairlead_redis)
endif()
if(TARGET fairlead_sim)
  list(APPEND fairlead_installed fairlead_sim)
endif()
set(fairlead_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Fairlead)

install(TARGETS ${fairlead_installed} EXPORT FairleadTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fairlead
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/gcc12.py
  DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME fairlead-gcc12)
install(EXPORT FairleadTargets NAMESPACE fairlead:: DESTINATION ${fairlead_package_dir})
# Files of their own: only a project that asks for the component tls needs OpenSSL, and only a
# project that asks for the component postgres needs libpq.
if(TARGET fairlead_tls)
  install(TARGETS fairlead_tls EXPORT FairleadTlsTargets)
  install(EXPORT FairleadTlsTargets NAMESPACE fairlead:: DESTINATION ${fairlead_package_dir})
endif()
if(TARGET fairlead_postgres)
  install(TARGETS fairlead_postgres EXPORT FairleadPostgresTargets)
  install(EXPORT FairleadPostgresTargets NAMESPACE fairlead:: DESTINATION ${fairlead_package_dir})
endif()

# The same with c-ares.
if(TARGET fairlead_dns)
  install(TARGETS fairlead_dns EXPORT FairleadDnsTargets)
  install(EXPORT FairleadDnsTargets NAMESPACE fairlead:: DESTINATION ${fairlead_package_dir})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/FairleadConfig.cmake.in
  ${PROJECT_BINARY_DIR}/FairleadConfig.cmake INSTALL_DESTINATION ${fairlead_package_dir})
# Before 1.0 a minor version may change the interface, and with it the layout of public types.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/FairleadConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/FairleadConfig.cmake
  ${PROJECT_BINARY_DIR}/FairleadConfigVersion.cmake
  DESTINATION ${fairlead_package_dir})

# The prefix relative to the file, so that an installed tree may be moved.
file(RELATIVE_PATH FAIRLEAD_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
# A header-only library has no file for the linker.
set(FAIRLEAD_PC_LIBS)
foreach(library IN ITEMS fairlead_http fairlead_io fairlead_core)
  get_target_property(type ${library} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    string(APPEND FAIRLEAD_PC_LIBS " -l${library}")
  endif()
endforeach()
set(FAIRLEAD_PC_DEFINITIONS)
if(FAIRLEAD_TAIL_CALLS)
  set(FAIRLEAD_PC_DEFINITIONS " -DFAIRLEAD_TAIL_CALLS")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/fairlead.pc.in ${PROJECT_BINARY_DIR}/fairlead.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fairlead.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(component IN ITEMS diagnostics tls dns)
  if(TARGET fairlead_${component})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/fairlead-${component}.pc.in
      ${PROJECT_BINARY_DIR}/fairlead-${component}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/fairlead-${component}.pc
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endforeach()

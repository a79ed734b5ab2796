# cmake --install, and what find_package(hpo) gives: hpo::core and, where their packages are found again, hpo::sqlite, hpo::lua, hpo::plugin,
# hpo::runtime and the others. hpo::torch and hpo::torch_runtime for who asks: find_package(hpo COMPONENTS torch).
include(CMakePackageConfigHelpers)

install(DIRECTORY include/hpo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY python/hpo DESTINATION ${CMAKE_INSTALL_DATADIR}/hpo/python FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
install(DIRECTORY scripts/lua/ DESTINATION ${CMAKE_INSTALL_DATADIR}/hpo/lua FILES_MATCHING PATTERN "*.lua")

# What is no template, compiled: for plugins that are built outside of this tree. A library of a sanitizer, or of a LibTorch whose version
# CMake cannot compare, is of no use there.
if(NOT HPO_SANITIZE_ADDRESS AND NOT HPO_SANITIZE_THREAD)
  foreach(compiled IN ITEMS hpo_runtime hpo_torch_runtime)
    if(NOT TARGET ${compiled} OR (compiled STREQUAL "hpo_torch_runtime" AND HPO_TORCH_WHEEL))
      continue()
    endif()
    get_target_property(kind ${compiled} TYPE)
    if(kind STREQUAL "STATIC_LIBRARY")
      install(TARGETS ${compiled} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
    endif()
  endforeach()
endif()

install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY examples/plugins DESTINATION ${CMAKE_INSTALL_DATADIR}/hpo/examples)
file(GLOB hpo_examples CONFIGURE_DEPENDS examples/*.cpp)
install(FILES ${hpo_examples} DESTINATION ${CMAKE_INSTALL_DATADIR}/hpo/examples)

set(hpo_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hpo)
list(JOIN hpo_runtime_components " " hpo_runtime_targets)
configure_package_config_file(cmake/hpoConfig.cmake.in ${PROJECT_BINARY_DIR}/hpoConfig.cmake INSTALL_DESTINATION ${hpo_config_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hpoConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/hpoConfig.cmake ${PROJECT_BINARY_DIR}/hpoConfigVersion.cmake
              cmake/HpoDependencies.cmake cmake/HpoTargets.cmake cmake/HpoTorch.cmake cmake/HpoTrainer.cmake
        DESTINATION ${hpo_config_dir})

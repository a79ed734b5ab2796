# cmake --install, and what find_package(hpo) gives: hpo::hpo and, where their packages are found again, the compiled libraries. hpo::torch is
# for who asks: find_package(hpo COMPONENTS torch).
include(CMakePackageConfigHelpers)

# hpo-tune puts this copy first in the path of programs, so that a program in any Python gets the package that belongs to the tools.
install(DIRECTORY python/hpo DESTINATION ${hpo_install_share}/python FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
install(DIRECTORY scripts/lua/ DESTINATION ${hpo_install_share}/lua FILES_MATCHING PATTERN "*.lua")

# The licences of what the programs carry, as the packages have them that it came from. Without HPO_STATIC other libraries are only named.
set(hpo_carried sqlitecpp=libsqlitecpp-dev nlohmann-json=nlohmann-json3-dev cli11=libcli11-dev range-v3=librange-v3-dev boost=libboost1.74-dev eigen=libeigen3-dev)
if(HPO_STATIC)
  list(APPEND hpo_carried lua=liblua5.4-dev sqlite=libsqlite3-dev utf8proc=libutf8proc-dev zlib=zlib1g-dev libstdc++=libstdc++-12-dev)
endif()
set(hpo_licences ${CMAKE_INSTALL_DATADIR}/doc/hpo-tune/licences)
if(SKBUILD)
  set(hpo_licences ${SKBUILD_METADATA_DIR}/licenses)
endif()
foreach(library IN LISTS hpo_carried)
  string(REPLACE "=" ";" library "${library}")
  list(GET library 0 name)
  list(GET library 1 package)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION ${hpo_licences} RENAME ${name}.txt)
  elseif(SKBUILD)
    message(FATAL_ERROR "a wheel needs the licence of ${name}, /usr/share/doc/${package}/copyright: run scripts/install-packages --without-torch on Debian 12")
  endif()
endforeach()
if(SKBUILD)
  return()  # what follows is for who compiles against hpo
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/hpo-tune RENAME copyright)
install(DIRECTORY include/hpo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

# A library of a sanitizer, or of a LibTorch whose version CMake cannot compare, is of no use to who builds outside of this tree.
if(NOT HPO_SANITIZE_ADDRESS AND NOT HPO_SANITIZE_THREAD)
  foreach(library IN LISTS hpo_libraries)
    if(TARGET hpo_${library} AND NOT (library STREQUAL "torch" AND HPO_TORCH_WHEEL))
      install(TARGETS hpo_${library} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
    endif()
  endforeach()
endif()

install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
install(DIRECTORY examples/plugins DESTINATION ${CMAKE_INSTALL_DATADIR}/hpo/examples)
install(DIRECTORY plugins/quadratic DESTINATION ${CMAKE_INSTALL_DATADIR}/hpo/examples/plugins)
file(GLOB hpo_examples CONFIGURE_DEPENDS examples/*.cpp)
install(FILES ${hpo_examples} DESTINATION ${CMAKE_INSTALL_DATADIR}/hpo/examples)

set(hpo_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hpo)
configure_package_config_file(cmake/hpoConfig.cmake.in ${PROJECT_BINARY_DIR}/hpoConfig.cmake INSTALL_DESTINATION ${hpo_config_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hpoConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/hpoConfig.cmake ${PROJECT_BINARY_DIR}/hpoConfigVersion.cmake
              cmake/HpoDependencies.cmake cmake/HpoTargets.cmake cmake/HpoTorch.cmake cmake/HpoTrainer.cmake
        DESTINATION ${hpo_config_dir})

include(CMakePackageConfigHelpers)
install(DIRECTORY include/hpo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

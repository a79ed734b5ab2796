# hpo_add_trainer(NAME SOURCES ... LIBRARIES ...): the plugin libhpo_trainer_NAME.so, in lib/hpo/trainers/ of the build tree,
# installed beside hpo's own trainers. Also what a plugin project outside this tree calls.
function(hpo_add_trainer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(hpo_trainer_${name} MODULE ${arg_SOURCES})
  target_link_libraries(hpo_trainer_${name} PRIVATE ${arg_LIBRARIES})
  target_link_options(hpo_trainer_${name} PRIVATE "LINKER:--as-needed")
  if(TARGET hpo_development)
    target_link_libraries(hpo_trainer_${name} PRIVATE hpo_development)
  endif()
  set_target_properties(hpo_trainer_${name} PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/hpo/trainers)
  include(GNUInstallDirs)
  if(NOT hpo_install_trainers)
    set(hpo_install_trainers ${CMAKE_INSTALL_LIBDIR}/hpo/trainers)
  endif()
  set(component Unspecified)
  if("hpo::torch" IN_LIST arg_LIBRARIES)
    set(component torch)  # a package of its own (HpoPackage.cmake)
  endif()
  install(TARGETS hpo_trainer_${name} LIBRARY DESTINATION ${hpo_install_trainers} COMPONENT ${component} OPTIONAL)
endfunction()

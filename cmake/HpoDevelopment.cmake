# Flags for our own targets only (never exported), and the ways to add a program and a test folder.
add_library(hpo_development INTERFACE)
target_compile_options(hpo_development INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Wno-missing-field-initializers)  # designated initialisers leave out what keeps its default
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(hpo_development INTERFACE -Wno-restrict)  # GCC bug 105651: false alarms for "text" + std::string
endif()
if(HPO_WERROR)
  target_compile_options(hpo_development INTERFACE -Werror)
endif()
if(HPO_SANITIZE_ADDRESS)
  target_compile_options(hpo_development INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(hpo_development INTERFACE -fsanitize=address,undefined)
endif()
if(HPO_SANITIZE_THREAD)
  # Asio's fences are unknown to GCC's sanitizer; a pool's loop runs in one thread and does not need them.
  target_compile_options(hpo_development INTERFACE -fsanitize=thread $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_link_options(hpo_development INTERFACE -fsanitize=thread)
endif()

# hpo_add_program(NAME SOURCES ... LIBRARIES ...): a tool or example, in bin/.
function(hpo_add_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} hpo::runtime hpo_development)
endfunction()

# hpo_add_test(FOLDER [LIBRARIES ...] [LABELS ...] [WHOLE] [SERIAL]): one executable of all *_test.cpp in tests/FOLDER. Each
# case is a CTest test; with WHOLE the executable is one (for those whose start-up is dear). SERIAL: nothing else runs
# beside them (for those that measure time or wait for processes).
function(hpo_add_test folder)
  cmake_parse_arguments(arg "WHOLE;SERIAL" "" "LIBRARIES;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  set(target test_${folder})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE hpo_test_main ${arg_LIBRARIES} hpo::runtime hpo_development)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE HPO_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HPO_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(arg_WHOLE)
    add_test(NAME ${folder} COMMAND ${target})
    set_tests_properties(${folder} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900 RUN_SERIAL ${arg_SERIAL})
  else()
    catch_discover_tests(${target} TEST_PREFIX "${folder}: " PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300 RUN_SERIAL ${arg_SERIAL})
  endif()
endfunction()

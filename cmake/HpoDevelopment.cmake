# Flags for our own targets only (never exported), and the ways to add a program and a test folder.
add_library(hpo_development INTERFACE)
target_compile_options(hpo_development INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Wno-missing-field-initializers)  # designated initialisers leave out what keeps its default
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(hpo_development INTERFACE -Wno-restrict)  # GCC bug 105651: false alarms for "text" + std::string
  # GCC 12 warns of the text in a std::variant that holds a number.
  target_compile_options(hpo_development INTERFACE -Wno-maybe-uninitialized)
endif()
if(HPO_WERROR)
  target_compile_options(hpo_development INTERFACE -Werror)
endif()
if(HPO_STATIC)
  # libgcc_s stays shared: the static one of GCC 12 needs a newer C library (_dl_find_object).
  target_compile_options(hpo_development INTERFACE -ffunction-sections -fdata-sections
                         -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
  target_link_options(hpo_development INTERFACE -static-libstdc++ LINKER:--as-needed LINKER:--gc-sections LINKER:-z,relro,-z,now
                      LINKER:--exclude-libs,ALL)
endif()
if(HPO_SYSROOT)
  if(NOT HPO_STATIC OR NOT EXISTS ${HPO_SYSROOT}/ready)
    message(FATAL_ERROR "HPO_SYSROOT=${HPO_SYSROOT}: expected HPO_STATIC=ON and a folder that scripts/make-sysroot made")
  endif()
  # The compiler looks in its own folders before the sysroot's. There threads have a library of their own, which libstdc++ asks for last.
  set(libraries ${HPO_SYSROOT}/usr/lib/x86_64-linux-gnu)
  target_link_options(hpo_development INTERFACE --sysroot=${HPO_SYSROOT} -B${libraries} -L${libraries} -pthread)
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

# hpo_precompile(TARGET HEADERS...): these headers are compiled once for all files of the target. With -fpch-preprocess ccache can keep what
# includes them, where its own settings have sloppiness = pch_defines,time_macros.
function(hpo_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# hpo_precompile_together(TARGETS ... HEADERS ...): these headers are compiled once for all the targets, whose options must be the same.
function(hpo_precompile_together)
  cmake_parse_arguments(arg "" "" "TARGETS;HEADERS" ${ARGN})
  list(POP_FRONT arg_TARGETS first)
  hpo_precompile(${first} ${arg_HEADERS})
  foreach(target IN LISTS arg_TARGETS)
    target_precompile_headers(${target} REUSE_FROM ${first})
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endforeach()
endfunction()

# hpo_add_program(NAME SOURCES ... LIBRARIES ... [TOOL]): a program, in bin/. TOOL: what it computes is compiled in the libraries, so its own
# code is optimised less in a release.
function(hpo_add_program name)
  cmake_parse_arguments(arg "TOOL" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} hpo_development)
  if(arg_TOOL)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# hpo_add_renamed_trainers(TARGET FOLDER folder (SOURCE file | LIBRARY target) NAMES ...): trainers for tests, in tests/FOLDER of the build
# tree: one library, compiled once, under each of the names. Made from SOURCE it is the target TARGET_source, which another call may take.
function(hpo_add_renamed_trainers target)
  cmake_parse_arguments(arg "" "FOLDER;SOURCE;LIBRARY" "NAMES" ${ARGN})
  if(arg_SOURCE)
    set(arg_LIBRARY ${target}_source)
    add_library(${arg_LIBRARY} MODULE ${arg_SOURCE})
    target_link_libraries(${arg_LIBRARY} PRIVATE hpo::memory hpo::plugin ${CMAKE_DL_LIBS} hpo_development)
    target_link_options(${arg_LIBRARY} PRIVATE -Wl,--no-undefined)  # else it is first told when the library is loaded
    target_include_directories(${arg_LIBRARY} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${arg_LIBRARY} PRIVATE $<$<CONFIG:Release>:-O0>)
    set_target_properties(${arg_LIBRARY} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  set(copies "")
  foreach(name IN LISTS arg_NAMES)
    set(copy ${CMAKE_BINARY_DIR}/tests/${arg_FOLDER}/libhpo_trainer_${name}.so)
    add_custom_command(OUTPUT ${copy} COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${arg_LIBRARY}> ${copy} DEPENDS ${arg_LIBRARY} VERBATIM)
    list(APPEND copies ${copy})
  endforeach()
  add_custom_target(${target} DEPENDS ${copies})
endfunction()

# hpo_add_test(FOLDER [LIBRARIES ...] [LABELS ...] [WHOLE [IF_THERE file]] [OPTIMISED]): one executable of all *_test.cpp in tests/FOLDER. Each
# case is a CTest test; with WHOLE the executable is one (for those whose start-up is dear), and begins before the others. What they test is
# compiled in the libraries, so their own code is compiled without optimisation in a release. OPTIMISED: they compute much in templates or by
# themselves. IF_THERE: skipped without this file, which another test makes.
function(hpo_add_test folder)
  cmake_parse_arguments(arg "WHOLE;OPTIMISED" "IF_THERE" "LIBRARIES;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  foreach(source IN LISTS sources)
    file(STRINGS ${source} divided REGEX "TEST_CASE\\(\"[^\"]*;")  # CTest would look for two cases, find none, and call that passed
    if(divided)
      message(FATAL_ERROR "${source}: the name of a test case has a semicolon; expected a comma")
    endif()
  endforeach()
  set(target test_${folder})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE hpo_test_main ${arg_LIBRARIES} hpo_development)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${target} PRIVATE HPO_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HPO_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(NOT arg_OPTIMISED)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS fast)
  endif()
  if(arg_WHOLE)
    set(only "")
    if(arg_IF_THERE)
      set(only ${PROJECT_SOURCE_DIR}/scripts/if-there ${arg_IF_THERE})
    endif()
    add_test(NAME ${folder} COMMAND ${only} $<TARGET_FILE:${target}>)
    set_tests_properties(${folder} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 900 COST 100 SKIP_RETURN_CODE 77)
  else()
    set(seconds 300)
    if(HPO_SANITIZE_ADDRESS OR HPO_SANITIZE_THREAD)
      set(seconds 1500)  # they take up to ten times as long
    endif()
    catch_discover_tests(${target} TEST_PREFIX "${folder}: " PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${seconds})
  endif()
endfunction()

# hpo_header_checks(VARIABLE FOLDER [WITHOUT folder]): files that check that each header below FOLDER compiles alone (scripts/header-chains).
# Each header is included twice.
function(hpo_header_checks variable folder)
  cmake_parse_arguments(arg "" "WITHOUT" "" ${ARGN})
  set(without "")
  if(arg_WITHOUT)
    set(without --without ${arg_WITHOUT})
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.hpp)
  # The chains follow from the includes, so a changed header makes them anew.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/header-chains ${headers})
  find_program(HPO_PYTHON python3)
  if(NOT HPO_PYTHON)
    message(FATAL_ERROR "the tests need python3: install it, or configure with -DHPO_BUILD_TESTS=OFF")
  endif()
  execute_process(COMMAND ${HPO_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/header-chains ${folder} ${without} OUTPUT_VARIABLE chains COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n$" "" chains "${chains}")
  string(REPLACE "\n" ";" chains "${chains}")
  set(files "")
  foreach(chain IN LISTS chains)
    string(REPLACE " " ";" chain "${chain}")
    list(GET chain -1 last)
    set(text "")
    foreach(header IN LISTS chain)
      if(header MATCHES "^hpo/testing/store_.*contract.hpp$")
        string(PREPEND text "#include \"support/catch.hpp\"\n")  # it asks for Catch2 first, of whichever version
      endif()
      string(APPEND text "#include \"${header}\"\n#include \"${header}\"\n")
    endforeach()
    string(MAKE_C_IDENTIFIER ${last} stem)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/alone/${stem}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}")
    list(APPEND files ${file})
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

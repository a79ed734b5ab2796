# Runs PROGRAM with ARGUMENTS in a clean state and fails when its output is not what EXPECTED holds.
foreach(argument IN LISTS ARGUMENTS)
  file(REMOVE ${argument} ${argument}-wal ${argument}-shm)
endforeach()
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} OUTPUT_VARIABLE output ERROR_VARIABLE error RESULT_VARIABLE status)
file(READ ${EXPECTED} expected)
if(NOT status EQUAL 0 OR NOT output STREQUAL expected)
  message(FATAL_ERROR "exit ${status}\n--- expected\n${expected}--- got\n${output}--- stderr\n${error}")
endif()

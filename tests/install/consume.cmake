# cmake -DBUILD=… -DSOURCE=… -DWORK=… -DCOMPILER=… -DGENERATOR=… [-DPLUGIN=…] -P consume.cmake
# With PLUGIN, plugins for LibTorch are built against what a call without it has installed.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nended with ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# The project that new-plugin writes: it builds as its own instructions say, and its tests pass.
function(must_build_new_plugin name)
  file(REMOVE_RECURSE ${WORK}/${name})
  must(${WORK}/prefix/bin/hpo-tune new-plugin ${WORK}/${name} ${ARGN})
  must(${CMAKE_COMMAND} -S ${WORK}/${name} -B ${WORK}/${name}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
       -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER})
  if(output MATCHES "runtime is off")
    message(FATAL_ERROR "the plugin does not link what is compiled:\n${output}")
  endif()
  must(${CMAKE_COMMAND} --build ${WORK}/${name}/build)
  must(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/${name}/build --output-on-failure --no-tests=error)
endfunction()

if(PLUGIN)
  # A plugin outside this tree, as docs/writing-a-plugin.md has it.
  file(REMOVE_RECURSE ${WORK}/plugin-build)
  must(${CMAKE_COMMAND} -S ${PLUGIN} -B ${WORK}/plugin-build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/prefix
       -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0)
  must(${CMAKE_COMMAND} --install ${WORK}/plugin-build --prefix ${WORK}/partial)  # nothing is built yet: installs what is there
  must(${CMAKE_COMMAND} --build ${WORK}/plugin-build)
  execute_process(COMMAND ${WORK}/prefix/bin/hpo-tune policies trainer --plugin-dir ${WORK}/plugin-build/lib/hpo/trainers
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0 OR NOT output MATCHES "adding_problem")
    message(FATAL_ERROR "hpo-tune policies trainer does not list the plugin adding_problem; status ${status}\n${output}")
  endif()
  must_build_new_plugin(torch_trainer)

  # A program with a training loop of its own, as docs/own-loops.md has it.
  file(REMOVE_RECURSE ${WORK}/own-loop-build)
  must(${CMAKE_COMMAND} -S ${SOURCE}/../own_loop -B ${WORK}/own-loop-build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/prefix
       -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0)
  must(${CMAKE_COMMAND} --build ${WORK}/own-loop-build)
  must(${WORK}/own-loop-build/own_loop)
  return()
endif()

file(REMOVE_RECURSE ${WORK}/prefix ${WORK}/consumer-build)
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
must(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/consumer-build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/prefix
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug)
must(${CMAKE_COMMAND} --build ${WORK}/consumer-build)
must(${WORK}/consumer-build/consumer ${WORK}/consumer-build/study.db)
must(${WORK}/consumer-build/in_process)
must(${WORK}/consumer-build/contracts)
must(${WORK}/prefix/bin/hpo-tune policies trainer)
# What is written about plugins comes along, and so does the example.
foreach(file lib/libhpo_study.a share/doc/hpo/writing-a-plugin.md share/hpo/examples/plugins/adding_problem/adding_problem.hpp
        share/doc/hpo/own-loops.md share/hpo/examples/070_adaptive_batch.cpp)
  if(NOT EXISTS ${WORK}/prefix/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()

# The example without LibTorch builds where it is installed.
file(REMOVE_RECURSE ${WORK}/quadratic-build)
must(${CMAKE_COMMAND} -S ${WORK}/prefix/share/hpo/examples/plugins/quadratic -B ${WORK}/quadratic-build -G ${GENERATOR}
     -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1)
must(${CMAKE_COMMAND} --build ${WORK}/quadratic-build)
must(${WORK}/prefix/bin/hpo-tune check-plugin quadratic --plugin-dir ${WORK}/quadratic-build/lib/hpo/trainers)

must_build_new_plugin(plain_trainer --plain)
# Its trials are not pruned at their last report, which in a study of one step is their only one.
execute_process(COMMAND ${WORK}/prefix/bin/hpo-tune run plain_trainer.lua --plugin-dir build/lib/hpo/trainers --set steps=1 --progress none
                WORKING_DIRECTORY ${WORK}/plain_trainer RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0 OR NOT output MATCHES ": 20 complete;")
  message(FATAL_ERROR "20 trials of one step should be complete; status ${status}\n${output}")
endif()

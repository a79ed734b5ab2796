# The plan of the house: each library, the folders of src/ that are compiled into it, and what it links. Arrows only go down. Read by our own
# build and by find_package(hpo). hpo_INCLUDE_DIR says where the headers are, hpo_LIBRARY_DIR where what is already compiled is.

# hpo::hpo: the policies, the tuner and all that they need. Headers alone.
add_library(hpo_hpo INTERFACE)
add_library(hpo::hpo ALIAS hpo_hpo)
target_compile_features(hpo_hpo INTERFACE cxx_std_20)
target_include_directories(hpo_hpo INTERFACE ${hpo_INCLUDE_DIR})

# hpo_library(NAME FOLDERS ... LIBRARIES ... [HEADERS ...]): what is needed of a compiled library, in hpo_NAME_folders, hpo_NAME_libraries and
# hpo_NAME_headers. HEADERS are packages of headers that it is compiled with, and that who links it does not need. Where a package is missing,
# the library does not exist, and configuring says so.
set(hpo_libraries "")
function(hpo_library name)
  cmake_parse_arguments(arg "" "" "FOLDERS;LIBRARIES;HEADERS" ${ARGN})
  if(hpo_LIBRARY_DIR)
    set(arg_HEADERS "")  # it is compiled already
  endif()
  foreach(library IN LISTS arg_LIBRARIES arg_HEADERS)
    string(REGEX REPLACE "^hpo::" "" ours ${library})
    if(NOT TARGET ${library} AND NOT ours IN_LIST hpo_libraries)
      message(STATUS "hpo::${name} is off: ${library} was not found")
      return()
    endif()
  endforeach()
  set(hpo_libraries ${hpo_libraries} ${name} PARENT_SCOPE)
  set(hpo_${name}_folders ${arg_FOLDERS} PARENT_SCOPE)
  set(hpo_${name}_libraries ${arg_LIBRARIES} PARENT_SCOPE)
  set(hpo_${name}_headers ${arg_HEADERS} PARENT_SCOPE)
endfunction()

# What a configuration will ask for: the model of the allocator, snapshots, and the guards that learn peaks.
hpo_library(memory FOLDERS allocator guard LIBRARIES hpo::hpo)
# Samplers that need more than the standard library.
hpo_library(search FOLDERS sampler LIBRARIES hpo::hpo HEADERS Eigen3::Eigen)
# A trainer's side of the border, and the devices that it runs on.
hpo_library(plugin FOLDERS process device trainer LIBRARIES hpo::hpo hpo_boost nlohmann_json::nlohmann_json)
# A study that outlives its process: stores, scripts, workers, and policies by name.
hpo_library(study FOLDERS space registry store script worker
            LIBRARIES hpo::memory hpo::search hpo::plugin hpo_sqlite hpo_lua range-v3::range-v3)
# Why trials failed.
hpo_library(analysis FOLDERS analysis LIBRARIES hpo::study)
# What trainers of texts and tables need that is not LibTorch.
hpo_library(kit FOLDERS dataset text weights LIBRARIES hpo::hpo nlohmann_json::nlohmann_json ZLIB::ZLIB hpo_utf8proc)
# Trainers over LibTorch.
if(TARGET hpo_libtorch)
  hpo_library(torch FOLDERS torch LIBRARIES hpo::memory hpo::plugin hpo::kit hpo_libtorch)
endif()

# hpo_import(NAME): hpo::NAME of the file libhpo_NAME.a.
function(hpo_import name)
  set(archive ${hpo_LIBRARY_DIR}/libhpo_${name}.a)
  foreach(library IN LISTS hpo_${name}_libraries)
    if(NOT TARGET ${library})
      message(STATUS "hpo::${name} is off: ${library} is not there")
      return()
    endif()
  endforeach()
  if(NOT EXISTS ${archive})
    message(STATUS "hpo::${name} is off: ${archive} is not there")
    return()
  endif()
  add_library(hpo::${name} STATIC IMPORTED)
  set_target_properties(hpo::${name} PROPERTIES IMPORTED_LOCATION ${archive} INTERFACE_LINK_LIBRARIES "${hpo_${name}_libraries}")
endfunction()

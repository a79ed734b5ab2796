# The library as INTERFACE targets: each names what its headers include, and nothing else. Read by our own build and by find_package(hpo).
# hpo_INCLUDE_DIR says where the headers are, hpo_LIBRARY_DIR where what is already compiled is.
add_library(hpo_core INTERFACE)
add_library(hpo::core ALIAS hpo_core)
target_compile_features(hpo_core INTERFACE cxx_std_20)
target_include_directories(hpo_core INTERFACE ${hpo_INCLUDE_DIR})

# hpo_component(NAME dependency...): target hpo::NAME when every dependency exists.
function(hpo_component name)
  foreach(dependency IN LISTS ARGN)
    if(dependency MATCHES "::|^hpo_|^SQLiteCpp$" AND NOT TARGET ${dependency})
      message(STATUS "hpo::${name} is off: ${dependency} was not found")
      return()
    endif()
  endforeach()
  add_library(hpo_${name} INTERFACE)
  add_library(hpo::${name} ALIAS hpo_${name})
  target_link_libraries(hpo_${name} INTERFACE hpo_core ${ARGN})
endfunction()

hpo_component(maths)                                                                # a former name: it needs no package
hpo_component(enumeration range-v3::range-v3)                                       # space/, analysis/
if(HPO_SQLITE_LIBRARY)
  hpo_component(sqlite SQLiteCpp ${HPO_SQLITE_LIBRARY} nlohmann_json::nlohmann_json)  # store/sqlite
else()
  message(STATUS "hpo::sqlite is off: libsqlite3-dev was not found")
endif()
hpo_component(plugin hpo_boost nlohmann_json::nlohmann_json)                        # trainer/, worker/, device/
hpo_component(dataset ZLIB::ZLIB nlohmann_json::nlohmann_json)                       # dataset/
hpo_component(weights nlohmann_json::nlohmann_json)                                  # weights/
hpo_component(testing)                                                              # testing/ (bring your own Catch2)
if(HPO_LUA_LIBRARY AND HPO_LUA_INCLUDE_DIR)
  hpo_component(lua ${HPO_LUA_LIBRARY})
  target_include_directories(hpo_lua SYSTEM INTERFACE ${HPO_LUA_INCLUDE_DIR})
else()
  message(STATUS "hpo::lua is off: liblua5.4-dev was not found")
endif()
if(HPO_UTF8PROC_LIBRARY AND HPO_UTF8PROC_INCLUDE_DIR)
  hpo_component(text nlohmann_json::nlohmann_json ${HPO_UTF8PROC_LIBRARY})
  if(TARGET hpo_text)
    target_include_directories(hpo_text SYSTEM INTERFACE ${HPO_UTF8PROC_INCLUDE_DIR})
  endif()
else()
  message(STATUS "hpo::text is off: libutf8proc-dev was not found")
endif()
if(TARGET hpo_libtorch)
  hpo_component(torch hpo_plugin hpo_libtorch)
endif()

# hpo_import_compiled(NAME target...): target hpo::NAME of the file libhpo_NAME.a, if that is there and every target that it needs exists.
function(hpo_import_compiled name)
  set(archive ${hpo_LIBRARY_DIR}/libhpo_${name}.a)
  set(missing "")
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      list(APPEND missing ${target})
    endif()
  endforeach()
  if(NOT EXISTS ${archive})
    set(missing ${archive})
  endif()
  if(missing)
    message(STATUS "hpo::${name} is off: ${missing} is not there")
    return()
  endif()
  add_library(hpo::${name} STATIC IMPORTED)
  set_target_properties(hpo::${name} PROPERTIES IMPORTED_LOCATION ${archive} INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()

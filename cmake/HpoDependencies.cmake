# One alias per third-party package, because their own names differ. Installed packages only.
find_package(Threads REQUIRED)

if(HPO_STATIC)
  set(hpo_shared_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(ZLIB_USE_STATIC_LIBS ON)
endif()

# Found when present: a library whose package is missing does not exist.
find_package(Boost 1.74 QUIET)
find_package(Eigen3 3.4 QUIET NO_MODULE)
find_package(SQLiteCpp QUIET)
find_package(range-v3 QUIET)
find_package(nlohmann_json QUIET)
find_package(CLI11 QUIET)
find_package(ZLIB QUIET)

# Debian's Lua built as C++: its errors unwind destructors, where plain Lua would longjmp over them.
find_path(HPO_LUA_INCLUDE_DIR lua.hpp PATH_SUFFIXES lua5.4 lua-5.4)
find_library(HPO_LUA_LIBRARY NAMES lua5.4-c++ lua-5.4-c++)
mark_as_advanced(HPO_LUA_INCLUDE_DIR HPO_LUA_LIBRARY)

# utf8proc: Unicode's categories, decomposition and case, for tokenizers.
find_path(HPO_UTF8PROC_INCLUDE_DIR utf8proc.h)
find_library(HPO_UTF8PROC_LIBRARY NAMES utf8proc)
mark_as_advanced(HPO_UTF8PROC_INCLUDE_DIR HPO_UTF8PROC_LIBRARY)

find_library(HPO_SQLITE_LIBRARY NAMES sqlite3)
mark_as_advanced(HPO_SQLITE_LIBRARY)
if(HPO_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${hpo_shared_suffixes})
endif()

if(HPO_LUA_LIBRARY AND HPO_LUA_INCLUDE_DIR)
  add_library(hpo_lua INTERFACE)
  target_link_libraries(hpo_lua INTERFACE ${HPO_LUA_LIBRARY})
  target_include_directories(hpo_lua SYSTEM INTERFACE ${HPO_LUA_INCLUDE_DIR})
endif()
if(HPO_UTF8PROC_LIBRARY AND HPO_UTF8PROC_INCLUDE_DIR)
  add_library(hpo_utf8proc INTERFACE)
  target_link_libraries(hpo_utf8proc INTERFACE ${HPO_UTF8PROC_LIBRARY})
  target_include_directories(hpo_utf8proc SYSTEM INTERFACE ${HPO_UTF8PROC_INCLUDE_DIR})
endif()
if(TARGET SQLiteCpp AND HPO_SQLITE_LIBRARY)
  add_library(hpo_sqlite INTERFACE)
  # SQLite loads extensions, and before glibc 2.34 what loads is a library of its own.
  target_link_libraries(hpo_sqlite INTERFACE SQLiteCpp ${HPO_SQLITE_LIBRARY} ${CMAKE_DL_LIBS})
endif()

if(TARGET Boost::headers)
  # Boost.DLL on std::filesystem: no compiled Boost library is linked.
  add_library(hpo_boost INTERFACE)
  target_compile_definitions(hpo_boost INTERFACE BOOST_DLL_USE_STD_FS)
  target_link_libraries(hpo_boost INTERFACE Boost::headers Threads::Threads ${CMAKE_DL_LIBS})
endif()

if(NOT HPO_WITHOUT_TORCH AND (HPO_BUILD_PLUGINS OR HPO_TORCH_WHEEL OR HPO_WITH_TORCH))
  include(${CMAKE_CURRENT_LIST_DIR}/HpoTorch.cmake)
endif()

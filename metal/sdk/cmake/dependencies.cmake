# What projects usually download while they are configured is taken from installed packages, where it is there:
# a dependency provider for FetchContent. FETCHCONTENT_SOURCE_DIR_<NAME> still has precedence.
include_guard(GLOBAL)

# mlxn_sdk_shape(NAME LINK TARGET...): a folder that looks like the sources of NAME: pairs of a path in it and
# the installed file or folder that is to be found there.
function(mlxn_sdk_shape name)
  set(folder ${CMAKE_BINARY_DIR}/_deps/${name}-installed)
  while(ARGN)
    list(POP_FRONT ARGN link target)
    cmake_path(GET link PARENT_PATH parent)
    file(MAKE_DIRECTORY ${folder}/${parent})
    file(CREATE_LINK ${target} ${folder}/${link} SYMBOLIC)
  endwhile()
  set(mlxn_sdk_folder ${folder} PARENT_SCOPE)
endfunction()

# Each sets mlxn_sdk_folder when the dependency could be provided.
macro(mlxn_sdk_provide_metal_cpp)
  set(mlxn_sdk_folder ${MLXN_SDK}/metal-cpp)
endmacro()

macro(mlxn_sdk_provide_json)
  find_path(MLXN_SDK_JSON nlohmann/json.hpp)
  find_package(nlohmann_json QUIET)
  if(MLXN_SDK_JSON)
    mlxn_sdk_shape(json single_include/nlohmann ${MLXN_SDK_JSON}/nlohmann include/nlohmann ${MLXN_SDK_JSON}/nlohmann)
  endif()
endmacro()

macro(mlxn_sdk_provide_fmt)
  find_package(fmt QUIET)
  if(fmt_FOUND)
    mlxn_sdk_shape(fmt)
  endif()
endmacro()

macro(mlxn_sdk_provide_doctest)
  find_package(doctest QUIET)
  if(doctest_FOUND)
    mlxn_sdk_shape(doctest scripts/cmake/doctest.cmake ${doctest_DIR}/doctest.cmake
                   scripts/cmake/doctestAddTests.cmake ${doctest_DIR}/doctestAddTests.cmake)
    if(NOT TARGET doctest)
      add_library(doctest INTERFACE)
      target_link_libraries(doctest INTERFACE doctest::doctest)
    endif()
  endif()
endmacro()

macro(mlxn_sdk_provide_nanobind)
  if(NOT nanobind_DIR AND Python_EXECUTABLE)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_DIR
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(nanobind CONFIG QUIET)
  if(nanobind_FOUND)
    mlxn_sdk_shape(nanobind)
  endif()
endmacro()

macro(mlxn_sdk_provide method name)
  unset(mlxn_sdk_folder)
  string(TOLOWER ${name} mlxn_sdk_name)
  if(mlxn_sdk_name MATCHES "^metal[-_]?cpp$")
    mlxn_sdk_provide_metal_cpp()
  elseif(mlxn_sdk_name MATCHES "^(nlohmann[-_])?json$")
    mlxn_sdk_provide_json()
  elseif(mlxn_sdk_name MATCHES "^(fmt|doctest|nanobind)$")
    cmake_language(CALL mlxn_sdk_provide_${mlxn_sdk_name})
  endif()
  if(mlxn_sdk_folder)
    message(STATUS "${name}: taken from ${mlxn_sdk_folder}")
    FetchContent_SetPopulated(${name} SOURCE_DIR ${mlxn_sdk_folder} BINARY_DIR ${mlxn_sdk_folder}-build)
  endif()
endmacro()

cmake_language(SET_DEPENDENCY_PROVIDER mlxn_sdk_provide SUPPORTED_METHODS FETCHCONTENT_MAKEAVAILABLE_SERIAL)

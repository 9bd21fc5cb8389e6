# Build helpers shared by all folders.

function(mlxn_find_ccache)
  find_program(MLXN_CCACHE ccache)
  if(MLXN_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${MLXN_CCACHE} PARENT_SCOPE)
    # What it takes to cache files that use a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${MLXN_CCACHE} PARENT_SCOPE)
  endif()
endfunction()

function(mlxn_sanitize list)
  if(list)
    add_compile_options(-fsanitize=${list} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${list})
    add_compile_definitions(MLXN_SANITIZED)
    if(list MATCHES "undefined")
      # Metal's objects answer calls on null with zero; a real null access still faults. The compiler
      # module has no type information, as LLVM has none.
      add_compile_options(-fno-sanitize=null,vptr)
    endif()
  endif()
endfunction()

# Warnings and include root for a target of ours.
function(mlxn_target target)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -Werror=unused-result)
endfunction()

# Keeps the C++ run time of a shared library to itself. Programs may have another one: where both are in
# one scope of the dynamic linker, the second to be loaded takes parts of the first, and the next
# exception in whatever uses it ends the process. Sanitizers bring their own.
function(mlxn_own_runtime target)
  if(NOT MLXN_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
      LINKER:--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a)
  endif()
endfunction()

# mlxn_folder_library(name): a static library of one folder; all sources beside the CMakeLists.txt that calls
# it and in the folders below.
function(mlxn_folder_library target)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${target} STATIC ${sources})
  mlxn_target(${target})
endfunction()

# mlxn_entry_table(target FOLDER folder HEADER header NAMESPACE namespace TYPE type PREFIX prefix FUNCTION function):
# adds a function to the target that gives the entries `<prefix>_<stem>`, one defined by each file of the folder.
function(mlxn_entry_table target)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "FOLDER;HEADER;NAMESPACE;TYPE;PREFIX;FUNCTION" "")
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${given_FOLDER}/*.cpp)
  list(SORT files)
  set(declarations "")
  set(entries "")
  foreach(file IN LISTS files)
    get_filename_component(stem ${file} NAME_WE)
    string(APPEND declarations "extern const ${given_TYPE} ${given_PREFIX}_${stem};\n")
    string(APPEND entries "    &${given_PREFIX}_${stem},\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${given_PREFIX}_table.cpp)
  file(CONFIGURE OUTPUT ${table} CONTENT
"#include \"${given_HEADER}\"

namespace ${given_NAMESPACE} {

${declarations}
std::span<const ${given_TYPE}* const> ${given_FUNCTION}() {
  static const ${given_TYPE}* const entries[] = {
${entries}  };
  return entries;
}

}  // namespace ${given_NAMESPACE}
" @ONLY)
  target_sources(${target} PRIVATE ${table})
endfunction()

# Tests run once: what counts is how soon they start.
function(mlxn_test_flags target)
  target_compile_options(${target} PRIVATE -O0 $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

# mlxn_folder_tests(name LIBS...): one GoogleTest binary from all *_test.cpp of the calling folder.
function(mlxn_folder_tests target)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${target} ${sources})
  mlxn_target(${target})
  mlxn_test_flags(${target})
  target_precompile_headers(${target} REUSE_FROM test_prelude)
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${target} COMMAND ${target})
  # Our own programs are held to what Apple's validation layer asks for.
  set_tests_properties(${target} PROPERTIES TIMEOUT 600 ENVIRONMENT MLXN_VALIDATION=1)
  if(target IN_LIST MLXN_LONG_TESTS)
    set_tests_properties(${target} PROPERTIES COST 1000)
  endif()
  if(target IN_LIST MLXN_QUICK_TESTS)
    set_property(TEST ${target} APPEND PROPERTY LABELS quick)
  endif()
  if(target IN_LIST MLXN_SANITIZED_TESTS)
    set_property(TEST ${target} APPEND PROPERTY LABELS sanitized)
    add_dependencies(sanitized_tests ${target})
  endif()
endfunction()

# mlxn_python_test(name script arguments...): a test in Python, with the packages of
# tools/requirements.txt, fetched on first use. One at a time: the first to run makes the environment.
# One thread: numpy's own wait busily when tests run side by side.
function(mlxn_python_test name)
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tools/with_python.sh
                                ${PROJECT_BINARY_DIR}/python ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 RESOURCE_LOCK python_env
                                          ENVIRONMENT OPENBLAS_NUM_THREADS=1)
endfunction()

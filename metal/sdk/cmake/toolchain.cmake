# A CMake tool chain for projects that are written for Apple's Metal: they find Metal, its C++ headers and its
# compiler, and take the branches they take on a Mac. Compilers and libraries are this machine's.
# `mlxn-sdk cmake ...` sets it up; see docs/sdk.md.
set(MLXN_SDK ${CMAKE_CURRENT_LIST_DIR}/..)
cmake_path(ABSOLUTE_PATH MLXN_SDK NORMALIZE)

set(CMAKE_C_COMPILER ${MLXN_SDK}/bin/clang)
set(CMAKE_CXX_COMPILER ${MLXN_SDK}/bin/clang++)
list(PREPEND CMAKE_LIBRARY_PATH ${MLXN_SDK}/lib)  # Metal, Foundation, QuartzCore
set(CMAKE_PROJECT_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/project.cmake)
set(CMAKE_PROJECT_TOP_LEVEL_INCLUDES ${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)

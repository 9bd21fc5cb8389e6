# Read at the end of every project() call: CMake knows by then how this machine compiles and links, so the
# project may be told that it is on a Mac. APPLE itself stays unset: it stands for the linker and the
# frameworks of Apple's systems, which are not here.
get_property(is_try GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT is_try)
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_SYSTEM_PROCESSOR arm64)
  set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "Oldest macOS that the project is built for; empty: the SDK's")
endif()

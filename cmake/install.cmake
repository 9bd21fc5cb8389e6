# `cmake --install`: libraries, headers, find_package(mlxn) with mlxn::metal (Metal's interface),
# mlxn::core, mlxn::ops and mlxn::model (the engine), and mlxn-metal.pc.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mlxn)
set_target_properties(mlxn_metal PROPERTIES EXPORT_NAME metal VERSION ${PROJECT_VERSION}
                                            SOVERSION ${PROJECT_VERSION_MAJOR})
set_target_properties(mlxn_base PROPERTIES EXPORT_NAME base VERSION ${PROJECT_VERSION}
                                           SOVERSION ${PROJECT_VERSION_MAJOR})
set(engine core ops quant io text model)
foreach(name IN LISTS engine)
  set_target_properties(mlxn_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(mlxn::${name} ALIAS mlxn_${name})
endforeach()
list(TRANSFORM engine PREPEND mlxn_ OUTPUT_VARIABLE engine_targets)
set_target_properties(mlxn_metal mlxn_msl PROPERTIES INSTALL_RPATH "$ORIGIN")
add_library(mlxn::metal ALIAS mlxn_metal)

install(TARGETS mlxn_base mlxn_metal ${engine_targets} EXPORT mlxn_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT metal NAMELINK_COMPONENT metal
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT metal)
install(TARGETS mlxn_msl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT metal)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/public_headers.txt patterns REGEX "^[^#]")
foreach(pattern IN LISTS patterns)
  string(REGEX REPLACE "^-" "" names ${pattern})
  file(GLOB found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${names})
  list(REMOVE_ITEM public_headers ${found})
  if(names STREQUAL pattern)
    list(APPEND public_headers ${found})
  endif()
endforeach()
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT metal)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/metal/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT metal)
install(EXPORT mlxn_targets FILE mlxn_targets.cmake NAMESPACE mlxn:: DESTINATION ${package_dir}
        COMPONENT metal)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mlxnConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/mlxnConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mlxnConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH MLXN_PC_INCLUDE /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/mlxn-metal.pc.in ${PROJECT_BINARY_DIR}/mlxn-metal.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mlxnConfig.cmake ${PROJECT_BINARY_DIR}/mlxnConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT metal)
install(FILES ${PROJECT_BINARY_DIR}/mlxn-metal.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT metal)
foreach(tool mlxn mslc)
  set_target_properties(${tool} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endforeach()

# The SDK: what projects for Apple's Metal need to build here (docs/sdk.md). Everything in it is found from its
# own place, three folders below the prefix.
set(sdk_dir lib/mlxn/sdk)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/metal/sdk/cmake ${PROJECT_SOURCE_DIR}/metal/sdk/include
        DESTINATION ${sdk_dir} COMPONENT sdk)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/metal/sdk/bin/mlxn-sdk DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sdk)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/metal/sdk/bin/compiler DESTINATION ${sdk_dir}/bin COMPONENT sdk)
set_target_properties(mlxn_metal_tools PROPERTIES INSTALL_RPATH "$ORIGIN/../../../../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS mlxn_metal_tools RUNTIME DESTINATION ${sdk_dir}/bin COMPONENT sdk)
function(mlxn_install_link target link)
  install(CODE "set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${sdk_dir}/${link}\")
                get_filename_component(folder \"\${link}\" DIRECTORY)
                file(MAKE_DIRECTORY \"\${folder}\")
                file(CREATE_LINK \"${target}\" \"\${link}\" SYMBOLIC)" COMPONENT sdk)
endfunction()
foreach(name metallib metal-ar xcrun sw_vers)
  mlxn_install_link(metal bin/${name})
endforeach()
foreach(name cc c++ gcc g++ clang clang++)
  mlxn_install_link(compiler bin/${name})
endforeach()
foreach(name Metal Foundation QuartzCore)
  mlxn_install_link(../../../../${CMAKE_INSTALL_LIBDIR}/libmlxn_metal.so lib/lib${name}.so)
endforeach()
mlxn_install_link(../../../../${CMAKE_INSTALL_LIBDIR}/libmlxn_msl.so lib/libmlxn_msl.so)  # where the tools look for it
foreach(name Metal Foundation mlxn)
  mlxn_install_link(../../../../${CMAKE_INSTALL_INCLUDEDIR}/${name} metal-cpp/${name})
endforeach()

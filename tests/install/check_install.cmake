# Run by ctest: see CMakeLists.txt beside it. The prefix is moved after installation, so that nothing in
# it may depend on where it was made.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  set(output "${output}" PARENT_SCOPE)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/moved)
foreach(component metal sdk tools)
  step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component ${component})
endforeach()
file(RENAME ${WORK}/prefix ${prefix})

message("== headers")
file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/mlxn/*.h)
set(all "")
foreach(header IN LISTS headers)
  string(APPEND all "#include \"${header}\"\n")
endforeach()
file(WRITE ${WORK}/headers.cpp "${all}")
step(${CXX} -std=c++20 -fsyntax-only -I ${prefix}/include ${WORK}/headers.cpp)

message("== find_package")
step(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/cmake -DCMAKE_PREFIX_PATH=${prefix}
     -DCMAKE_CXX_COMPILER=${CXX} -DEXAMPLES=${EXAMPLES})
step(${CMAKE_COMMAND} --build ${WORK}/cmake)
set(ENV{MLXN_CACHE_DIR} ${WORK}/cache)
step(${WORK}/cmake/outside)
step(${WORK}/cmake/session)
step(${WORK}/cmake/generate ${MODEL} "What is the capital of Japan?")
if(NOT output MATCHES "The capital of Japan is Tokyo")
  message(FATAL_ERROR "expected the answer of the model, got: ${output}")
endif()

message("== tools")
step(${prefix}/bin/mlxn doctor)
step(${prefix}/bin/mslc --check -D STEP=1 -I ${METAL_PROJECT}/include ${METAL_PROJECT}/scale.metal)

message("== pkg-config")
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs mlxn-metal OUTPUT_VARIABLE flags
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags UNIX_COMMAND "${flags}")
step(${CXX} -std=c++17 ${SOURCE}/main.cpp ${flags} -o ${WORK}/outside)
set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})
step(${WORK}/outside)

message("== a project for a Mac")
unset(ENV{LD_LIBRARY_PATH})
step(${prefix}/bin/mlxn-sdk ${CMAKE_COMMAND} -G Ninja -S ${METAL_PROJECT} -B ${WORK}/metal_project)
step(${prefix}/bin/mlxn-sdk ${CMAKE_COMMAND} --build ${WORK}/metal_project)
step(${prefix}/bin/mlxn-sdk ctest --test-dir ${WORK}/metal_project --output-on-failure --no-tests=error)

message("== compilers of a Mac")
# Frameworks and architectures are named as on a Mac; what the program needs of the C++ library is libc++'s.
foreach(name c++ g++ clang++)
  step(${prefix}/bin/mlxn-sdk ${name} -arch arm64 -mmacosx-version-min=14.0 -isysroot /nowhere -std=c++17
       -I ${prefix}/include ${METAL_PROJECT}/main.cpp -framework Metal -framework Foundation -o ${WORK}/by_${name})
  step(${WORK}/by_${name} ${WORK}/metal_project/kernels.metallib)
endforeach()
execute_process(COMMAND ${prefix}/bin/mlxn-sdk cc -arch RESULT_VARIABLE code ERROR_VARIABLE said)
if(code EQUAL 0 OR NOT said MATCHES "-arch")
  message(FATAL_ERROR "cc -arch: expected an error that names the option, got ${code}: ${said}")
endif()

message("== libc++ and libstdc++ in one process")
step(${prefix}/bin/mlxn-sdk cc ${TWO_RUNTIMES}/host.c -o ${WORK}/host)
step(${prefix}/bin/mlxn-sdk c++ -std=c++17 -shared -fPIC -I ${prefix}/include ${TWO_RUNTIMES}/metal_user.cpp -framework Metal
     -framework Foundation -o ${WORK}/metal_user.so)
step(${CXX} -std=c++17 -shared -fPIC ${TWO_RUNTIMES}/thrower.cpp -o ${WORK}/thrower.so)
step(${WORK}/host ${WORK}/metal_user.so ${WORK}/thrower.so)
step(${WORK}/host ${WORK}/thrower.so ${WORK}/metal_user.so)

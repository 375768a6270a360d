# Builds and runs somebody else's project on topos, as they would.
#
#   cmake -D CASE=consumer|embedder -D SOURCE=... -D BUILD=... -D COMPILER=...
#         [-D VERSION=...] [-D ONLY_CONFIGURE=ON] -P packaging.cmake
cmake_minimum_required(VERSION 3.24)

set(work ${BUILD}/tests/packaging/${CASE})
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(configure)
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/house/${CASE} -B ${work}/build
      -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN})
endfunction()

# Builds the program and hands back what it says.
function(build_and_run result)
  run(${CMAKE_COMMAND} --build ${work}/build)
  execute_process(COMMAND ${work}/build/${CASE} OUTPUT_VARIABLE said
                  ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${said}" PARENT_SCOPE)
endfunction()

function(expect_version said)
  if(NOT said MATCHES "^topos ${VERSION}\n")
    message(FATAL_ERROR "expected \"topos ${VERSION}\", heard \"${said}\"")
  endif()
endfunction()

if(CASE STREQUAL "consumer")
  set(prefix ${work}/prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --strip)

  # Small is a promise: the whole install stays under 5 MB.
  file(GLOB_RECURSE installed ${prefix}/*)
  set(total 0)
  foreach(file IN LISTS installed)
    if(NOT IS_SYMLINK ${file})
      file(SIZE ${file} size)
      math(EXPR total "${total} + ${size}")
    endif()
  endforeach()
  message(STATUS "installed, stripped: ${total} bytes")
  if(total GREATER 5000000)
    message(FATAL_ERROR "the install takes more than 5 MB")
  endif()

  configure(-DCMAKE_PREFIX_PATH=${prefix})
  build_and_run(said)
  expect_version("${said}")

  # The program that was installed runs from there, too.
  execute_process(COMMAND ${prefix}/bin/topos --version OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  expect_version("${said}")

elseif(CASE STREQUAL "embedder")
  configure(-DTOPOS_SOURCE_DIR=${SOURCE})

  # Our tests and our strictness stay at home.
  file(READ ${work}/build/compile_commands.json commands)
  if(commands MATCHES "-Werror")
    message(FATAL_ERROR "an embedder gets -Werror")
  endif()
  if(commands MATCHES "_test\\.cpp")
    message(FATAL_ERROR "an embedder gets tests")
  endif()

  if(NOT ONLY_CONFIGURE)
    build_and_run(said)
    expect_version("${said}")
  endif()
endif()

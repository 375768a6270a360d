# Adds an operation to a copy of the sources, as CONTRIBUTING.md says to.
#
#   cmake -D SOURCE=... -D BUILD=... -D AWK=... -D COMPILER=...
#         [-D ONLY_APPLY=ON] -P add_operation.cmake
#
# The recipe has to fit the sources of today, and to touch what it promises and
# no more. Without ONLY_APPLY the copy is then built, its rows are run by the
# test of every operation, and a program uses it on both engines.
cmake_minimum_required(VERSION 3.24)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(ONLY_APPLY)
  set(work ${BUILD}/tests/add_operation_text)
  set(parts include src)
else()
  set(work ${BUILD}/tests/add_operation)
  set(parts CMakeLists.txt cmake include src tests/CMakeLists.txt tests/ops
            tests/support tools/xla_server.py)
endif()

# Times stay those of the originals: what did not change is not built again.
file(REMOVE_RECURSE ${work}/cmake ${work}/include ${work}/src ${work}/tests
     ${work}/tools)
foreach(part IN LISTS parts)
  cmake_path(GET part PARENT_PATH folder)
  file(COPY ${SOURCE}/${part} DESTINATION ${work}/${folder})
endforeach()

execute_process(
  COMMAND ${AWK} -v root=${work} -f ${SOURCE}/tests/house/add_operation.awk
          ${SOURCE}/CONTRIBUTING.md
  OUTPUT_VARIABLE touched ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
set(promised "new src/ops/softsign.h
changed src/ops/catalog.h
changed include/topos/functions.h
changed src/ops/functions.inc
")
if(NOT touched STREQUAL promised)
  message(FATAL_ERROR "the recipe promises to touch\n${promised}")
endif()
if(ONLY_APPLY)
  return()
endif()

# Laid out as the project itself, so that ccache knows the files that the
# operation does not touch.
set(ENV{CCACHE_BASEDIR} ${work})
file(APPEND ${work}/CMakeLists.txt
     "topos_program(use_operation SOURCES ${SOURCE}/tests/house/add_operation.cpp)\n")
set(build ${work}/build/release)
run(${CMAKE_COMMAND} -S ${work} -B ${build} -G Ninja
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DTOPOS_WARNINGS_AS_ERRORS=ON
    -DTOPOS_BUILD_EXAMPLES=OFF -DTOPOS_BUILD_TOOLS=OFF -DTOPOS_INSTALL=OFF)
run(${CMAKE_COMMAND} --build ${build} --target topos_ops_test use_operation)
run(${build}/tests/topos_ops_test --gtest_filter=EveryOperation.*:OpTable.*
    --gtest_brief=1)
run(${build}/bin/use_operation)

# The building blocks of this project's CMake files: one module a folder of
# src/, one test program a folder of tests/, one program a tool or example.

option(TOPOS_EMULATED_TESTS
       "Run the test programs on an emulated x86 without AVX and fma, too" OFF)
mark_as_advanced(TOPOS_EMULATED_TESTS)
if(TOPOS_EMULATED_TESTS)
  find_program(TOPOS_QEMU qemu-x86_64 REQUIRED)
endif()

# What every target of ours is compiled with. The language standard belongs to
# the interface of the library; warnings stay ours.
add_library(topos_settings INTERFACE)
target_compile_features(topos_settings INTERFACE cxx_std_20)
# The numerics contract: an expression is evaluated as it is written. Left
# alone, GCC would fuse products and sums on targets that can.
target_compile_options(topos_settings INTERFACE -ffp-contract=off)

if(TOPOS_WARNINGS_AS_ERRORS)
  set(topos_werror -Werror)
endif()
set(topos_warnings -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
    -Woverloaded-virtual -Wundef ${topos_werror})
# GCC 12 sees overlaps in `"a" + string` that are not there (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND topos_warnings -Wno-restrict)
endif()

# Linked by header alone: nothing for those who link the library to look for.
set(topos_header_only nlohmann_json::nlohmann_json fmt::fmt-header-only
    CLI11::CLI11)

function(topos_compile_public target)
  target_link_libraries(${target} PRIVATE topos_settings)
  target_compile_options(${target} PRIVATE ${topos_warnings})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# For what may include private headers, too: the modules and their tests.
function(topos_compile target)
  topos_compile_public(${target})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()

# topos_module(<name> SOURCES ... [LINKS ...])
#
# One floor of the house: an object library `topos_<name>`, part of the library
# `topos`. LINKS are the lower floors and packages that it may use; `hwy` says
# Highway, which Debian describes to pkg-config.
function(topos_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  list(TRANSFORM arg_LINKS REPLACE "^hwy$" "PkgConfig::hwy")
  add_library(topos_${name} OBJECT ${arg_SOURCES})
  set_target_properties(topos_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  topos_compile(topos_${name})
  target_link_libraries(topos_${name} PRIVATE ${arg_LINKS})
  target_sources(topos PRIVATE $<TARGET_OBJECTS:topos_${name}>)
  # Where elements are computed, speed counts; elsewhere size does.
  if(NOT name MATCHES "^(tensor|math|ops|kernels|engine)$")
    target_compile_options(topos_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()

  list(FILTER arg_LINKS EXCLUDE REGEX "^topos_")
  if(arg_LINKS)
    list(REMOVE_ITEM arg_LINKS ${topos_header_only})
    set_property(GLOBAL APPEND PROPERTY topos_packages ${arg_LINKS})
  endif()
endfunction()

# topos_finish_library()
#
# Called once, after all modules: the public headers, each of which must
# compile alone, and the packages that the modules linked.
function(topos_finish_library)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/include/topos/*.h)
  target_sources(topos PUBLIC FILE_SET HEADERS
                 BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
  target_compile_features(topos PUBLIC cxx_std_20)
  get_property(packages GLOBAL PROPERTY topos_packages)
  list(REMOVE_DUPLICATES packages)
  target_link_libraries(topos PRIVATE ${packages})
  # Calls within a shared library go straight to their function.
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(topos PRIVATE
    $<$<BOOL:${BUILD_SHARED_LIBS}>:-Wl,-Bsymbolic-functions,--version-script=${exports}>)
  set_target_properties(topos PROPERTIES LINK_DEPENDS ${exports})
  set_target_properties(topos PROPERTIES
    LINKER_LANGUAGE CXX
    CXX_EXTENSIONS OFF
    VERIFY_INTERFACE_HEADER_SETS ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

# topos_program(<name> SOURCES ... [LINKS ...])
#
# A program in bin/, linked with the library. It sees the public headers only,
# as any user's program.
function(topos_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  topos_compile_public(${name})
  target_link_libraries(${name} PRIVATE topos ${arg_LINKS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# topos_test(<name> SOURCES ... [LINKS ...] [LABELS ...] [NOT_EMULATED])
#
# A GoogleTest program `topos_<name>_test`, run by ctest as one test.
#
#   LABELS        `threads`: runs under the thread sanitizer, too
#                 `full`: long, so it runs in `make test-full` only
#   NOT_EMULATED  about files and tools, not about what a processor computes
function(topos_test name)
  cmake_parse_arguments(arg "NOT_EMULATED" "" "SOURCES;LINKS;LABELS" ${ARGN})
  set(target topos_${name}_test)
  list(TRANSFORM arg_LINKS REPLACE "^topos_.*" "topos")
  list(TRANSFORM arg_LINKS REPLACE "^hwy$" "PkgConfig::hwy")
  list(REMOVE_DUPLICATES arg_LINKS)
  add_executable(${target} ${arg_SOURCES})
  topos_compile(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE topos ${arg_LINKS}
                        GTest::gmock GTest::gtest_main)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} LABELS "${arg_LABELS}")

  # What the thread sanitizer's build has to build.
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(topos_threads_tests ${target})
  endif()

  # Emulated, long tests would take hours.
  if(arg_NOT_EMULATED OR "full" IN_LIST arg_LABELS)
    return()
  endif()
  if(CMAKE_CROSSCOMPILING)
    # ctest puts the toolchain's emulator before the program.
    add_dependencies(topos_emulated_tests ${target})
    set_property(TEST ${name} APPEND PROPERTY LABELS emulated)
    set_tests_properties(${name} PROPERTIES TIMEOUT 3600
      ENVIRONMENT TOPOS_EMULATED=1)
  elseif(TOPOS_EMULATED_TESTS)
    add_test(NAME ${name}_on_nehalem
             COMMAND ${TOPOS_QEMU} -cpu Nehalem $<TARGET_FILE:${target}>)
    set_tests_properties(${name}_on_nehalem PROPERTIES TIMEOUT 3600
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} LABELS "full;emulated"
      ENVIRONMENT TOPOS_EMULATED=1)
  endif()
endfunction()

# What the presets tsan and aarch64 build.
if(TOPOS_BUILD_TESTS)
  add_custom_target(topos_threads_tests)
  add_custom_target(topos_emulated_tests)
endif()

# Which compilers build topos, the sanitizers, and ccache.

# Older ones stop with a screen of template errors; say it in one line.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
    AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang"
       AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16))
  message(FATAL_ERROR
    "topos needs GCC 12 or Clang 16, or newer; found "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
endif()

# A build type of its own: fast enough to run all tests, with lines in reports,
# and with assertions, which Release leaves out.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1")

# On every target, and so on the headers' templates wherever they land: mixing
# instrumented and plain code makes sanitizers blind or wrong.
if(TOPOS_SANITIZE)
  add_compile_options(-fsanitize=${TOPOS_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TOPOS_SANITIZE})
endif()

if(TOPOS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TOPOS_CCACHE_PROGRAM ccache)
  mark_as_advanced(TOPOS_CCACHE_PROGRAM)
  if(TOPOS_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TOPOS_CCACHE_PROGRAM})
  endif()
endif()

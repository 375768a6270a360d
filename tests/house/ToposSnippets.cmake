# Compiles and runs every C++ snippet of the pages for people. The pages are cut
# up when CMake runs, and again when one of them changes.
find_program(TOPOS_AWK awk REQUIRED)
mark_as_advanced(TOPOS_AWK)

set(snippets_awk ${CMAKE_CURRENT_SOURCE_DIR}/snippets.awk)
set(snippets_dir ${CMAKE_CURRENT_BINARY_DIR}/snippets)

file(GLOB pages CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
     ${PROJECT_SOURCE_DIR}/docs/*.md)
list(APPEND pages ${CMAKE_CURRENT_SOURCE_DIR}/snippets.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${pages} ${snippets_awk})

# Snippets may write files, and may read data/ as from the project's root.
set(snippets_run ${snippets_dir}/run)
file(MAKE_DIRECTORY ${snippets_run})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/data ${snippets_run}/data SYMBOLIC)

# A variable that shows a value's type is used by the reader.
set(snippets_options -Wno-unused-variable -Wno-unused-but-set-variable)

set(fragments)
set(sources)
foreach(page IN LISTS pages)
  cmake_path(GET page STEM LAST_ONLY stem)
  string(MAKE_C_IDENTIFIER ${stem} stem)
  set(fresh ${snippets_dir}/fresh)
  file(REMOVE_RECURSE ${fresh})
  file(MAKE_DIRECTORY ${fresh})
  execute_process(
    COMMAND ${TOPOS_AWK} -v page=${page} -v stem=${stem} -v out=${fresh}
            -f ${snippets_awk} ${page}
    OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" files "${files}")

  foreach(file IN LISTS files)
    set(source ${snippets_dir}/${file})
    list(APPEND sources ${source})
    # Untouched if it says the same: then nothing is compiled again.
    file(COPY_FILE ${fresh}/${file} ${source} ONLY_IF_DIFFERENT)
    cmake_path(GET file STEM name)
    if(name STREQUAL stem)
      list(APPEND fragments ${source})
    else()
      add_executable(snippet_${name} ${source})
      topos_compile(snippet_${name})
      target_compile_options(snippet_${name} PRIVATE ${snippets_options})
      target_link_libraries(snippet_${name} PRIVATE topos)
      set_target_properties(snippet_${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${snippets_dir})
      add_test(NAME snippet_${name} COMMAND snippet_${name})
      set_tests_properties(snippet_${name} PROPERTIES
        TIMEOUT 600 WORKING_DIRECTORY ${snippets_run})
    endif()
  endforeach()
  file(REMOVE_RECURSE ${fresh})
endforeach()

# Those of an earlier state of the pages.
file(GLOB stale ${snippets_dir}/*.cpp)
list(REMOVE_ITEM stale ${sources})
if(stale)
  file(REMOVE ${stale})
endif()

topos_test(snippets SOURCES ${fragments} NOT_EMULATED)
target_compile_options(topos_snippets_test PRIVATE ${snippets_options})
set_tests_properties(snippets PROPERTIES WORKING_DIRECTORY ${snippets_run})

add_test(NAME snippets_are_never_skipped
         COMMAND ${TOPOS_AWK} -v page=not_a_snippet.md -v stem=none
                 -v out=${snippets_run} -f ${snippets_awk}
                 ${CMAKE_CURRENT_SOURCE_DIR}/not_a_snippet.md)
set_tests_properties(snippets_are_never_skipped PROPERTIES
  PASS_REGULAR_EXPRESSION "not_a_snippet.md:3: a C\\+\\+ snippet has to begin")

# Turns the C++ of a Markdown page into sources that a compiler reads.
#
#   awk -v page=/path/README.md -v stem=README -v out=DIR -f snippets.awk PAGE
#
# Writes DIR/<stem>.cpp, a GoogleTest file with all fragments of the page, and
# DIR/<stem>_<line>.cpp for each program of its own; prints their names. What it
# cannot read is an error: no snippet is left out. tests/house/snippets.md shows
# the forms; it is read as a page, too.

function fail(message) {
  printf "%s:%d: %s\n", page, FNR, message > "/dev/stderr"
  failed = 1
  exit 1
}

# A unit is a block with the blocks that continue it.
function open_unit() {
  close_unit()
  unit_line = FNR
  includes = declarations = body = ""
  has_main = has_declarations = throws = 0
  unit_is_open = 1
}

function close_unit() {
  if (!unit_is_open) return
  unit_is_open = 0
  if (has_main || has_declarations) {
    write_program()
  } else {
    write_fragment()
  }
}

function write_program(   file) {
  if (has_main && throws) fail("a program cannot be said to throw")
  file = stem "_" unit_line ".cpp"
  printf "%s", includes > (out "/" file)
  if (has_main) {
    printf "%s%s", declarations, body > (out "/" file)
  } else {
    printf "%susing namespace topos;\n%sint main() {\n%s}\n", preamble, \
           declarations, guarded(body) > (out "/" file)
  }
  close(out "/" file)
  print file
}

function write_fragment() {
  page_includes = page_includes includes
  # A function of its own: inside of a test, Run and Test are GoogleTest's.
  page_tests = page_tests "static void line_" unit_line "() {\n" \
               guarded(body) "}\nTEST(" stem ", line_" unit_line ") { line_" \
               unit_line "(); }\n"
}

# The body, or the body in a trap that it has to fall into.
function guarded(text) {
  if (!throws) return text
  return "try {\n" text \
         "throw std::logic_error(\"no error was thrown\");\n" \
         "} catch (const topos::Error& error) {\n" \
         "std::cout << error.what() << '\\n';\n}\n"
}

# The first line of a block: how it is meant, after the word cpp.
function open_block(words,   count, word, i) {
  kind = "body"
  continues = hidden_before
  count = split(words, word, /[ \t]+/)
  for (i = 1; i <= count; ++i) {
    if (word[i] == "") continue
    if (word[i] == "continued") continues = 1
    else if (word[i] == "declarations") kind = "declarations"
    else if (word[i] == "throws") wants_throw = 1
    else fail("a snippet cannot be \"" word[i] "\": see tests/house/snippets.md")
  }
  if (!continues) open_unit()
  if (!unit_is_open) fail("nothing comes before that this could continue")
  if (wants_throw) throws = 1
  wants_throw = 0
  if (kind == "declarations") has_declarations = 1
  hidden_before = 0
  start_of_text = 1
}

function add(line,   text) {
  sub("^" indent, "", line)
  if (line ~ /^[ \t]*#[ \t]*include/) {
    includes = includes line "\n"
    start_of_text = 1  # the lines shift
    return
  }
  if (line ~ /^#pragma once$/) {  # a header that is shown whole
    start_of_text = 1
    return
  }
  if (line ~ /(^|[^a-z_0-9])int main\(/) has_main = 1
  text = line "\n"
  if (start_of_text) text = "#line " FNR " \"" page "\"\n" text
  start_of_text = 0
  if (kind == "declarations") declarations = declarations text
  else body = body text
}

# Inside a fence.
fence != "" {
  stripped = $0
  gsub(/^[ \t]+|[ \t]+$/, "", stripped)
  only = stripped
  gsub(fence_character, "", only)
  if (only == "" && length(stripped) >= length(fence)) {
    fence = ""
  } else if (in_cpp) {
    add($0)
  } else if ($0 ~ looks_like_cpp) {
    fail("a C++ snippet inside another block is not read")
  }
  next
}

# Inside a comment that holds what the page does not show.
in_hidden {
  if ($0 ~ /^[ \t]*-->[ \t]*$/) {
    in_hidden = 0
    hidden_before = 1
  } else if ($0 ~ /-->/) {
    fail("--> belongs on a line of its own")
  } else {
    add($0)
  }
  next
}

BEGIN {
  preamble = "#include <topos/topos.h>\n#include <iostream>\n" \
             "#include <stdexcept>\n"
  languages = "(cpp|c\\+\\+|cc|cxx|hpp|h|C\\+\\+|CPP|Cpp)"
  looks_like_cpp = "(```|~~~)[ \t]*\\{?\\.?" languages "([^a-zA-Z]|$)"
}

/^[ \t]*(```|~~~)/ {
  match($0, /^[ \t]*/)
  indent = substr($0, 1, RLENGTH)
  rest = substr($0, RLENGTH + 1)
  fence_character = substr(rest, 1, 1)
  match(rest, fence_character "+")
  fence = substr(rest, 1, RLENGTH)
  info = substr(rest, RLENGTH + 1)
  gsub(/^[ \t]+|[ \t]+$/, "", info)
  in_cpp = info ~ /^cpp([ \t]|$)/
  if (in_cpp) open_block(substr(info, 4))
  else if ($0 ~ looks_like_cpp) fail("write ```cpp: this is not read as C++")
  next
}

/^[ \t]*<!--[ \t]*cpp([ \t]|$)/ {
  if ($0 ~ /-->/) fail("--> belongs on a line of its own")
  match($0, /^[ \t]*/)
  indent = substr($0, 1, RLENGTH)
  words = $0
  sub(/^[ \t]*<!--[ \t]*cpp/, "", words)
  open_block(words)
  in_hidden = 1
  next
}

$0 ~ looks_like_cpp {
  fail("a C++ snippet has to begin its line, or it is not read")
}

END {
  if (failed) exit 1
  if (fence != "" || in_hidden) fail("the last block has no end")
  if (hidden_before) fail("hidden code belongs before a snippet")
  close_unit()
  if (page_tests != "") {
    file = stem ".cpp"
    printf "#include <gtest/gtest.h>\n%s%susing namespace topos;\n%s", \
           preamble, page_includes, page_tests > (out "/" file)
    close(out "/" file)
    print file
  }
}

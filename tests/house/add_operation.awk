# Follows the recipe "Add an operation" of CONTRIBUTING.md, to the letter, in a
# copy of the sources.
#
#   awk -v root=COPY -f add_operation.awk CONTRIBUTING.md
#
# A C++ block after a line that ends in `path`: is that file, whole. A diff
# block changes the file that its `+++` line names: lines with a + come after
# the unchanged lines above them, which have to be in the file, once and in a
# row. Prints a line a file, `new path` or `changed path`; everything else that
# stands in the section is for the reader alone.

function fail(message) {
  printf "%s:%d: %s\n", FILENAME, FNR, message > "/dev/stderr"
  failed = 1
  exit 1
}

function read_target(   line, status) {
  count = 0
  while ((status = (getline line < (root "/" target))) > 0) {
    text[++count] = line
  }
  close(root "/" target)
  if (status < 0) fail("there is no " target)
}

function write_target(   i) {
  for (i = 1; i <= count; ++i) print text[i] > (root "/" target)
  close(root "/" target)
  print "changed " target
}

# Puts the added lines after the unchanged ones.
function apply_hunk(   i, j, found, at) {
  if (added == 0) return
  if (kept == 0) fail("an added line needs an unchanged one above it")
  for (i = 0; i + kept <= count; ++i) {
    for (j = 1; j <= kept && text[i + j] == keep[j]; ++j) continue
    if (j > kept) {
      ++found
      at = i + kept
    }
  }
  if (found != 1) {
    fail("\"" keep[kept] "\" and what stands above it is in " target " " \
         (found + 0) " times")
  }
  for (i = count; i > at; --i) text[i + added] = text[i]
  for (i = 1; i <= added; ++i) text[at + i] = add[i]
  count += added
  kept = added = 0
}

/^## / { in_recipe = ($0 == "## Add an operation") }
!in_recipe { next }
/^## / {
  found_recipe = 1
  next
}

block == "" && /^```/ {
  block = substr($0, 4)
  sub(/ .*/, "", block)
  if (block == "cpp" && path != "") {
    target = path
    print "new " target
  } else if (block == "cpp") {
    block = "other"
  }
  path = ""
  next
}

block == "" {
  path = ""
  if (match($0, /`[a-z_\/]+\.h`:$/)) {
    path = substr($0, RSTART + 1, RLENGTH - 3)
  }
  # An empty line between the name and its block.
  if ($0 == "") path = path_above
  path_above = path
  next
}

/^```$/ {
  if (block == "cpp") close(root "/" target)
  if (block == "diff") {
    apply_hunk()
    write_target()
    kept = 0
  }
  block = ""
  next
}

block == "cpp" { print > (root "/" target) }

block == "diff" && /^--- / { next }
block == "diff" && /^\+\+\+ b\// {
  target = substr($0, 7)
  kept = added = 0
  read_target()
  next
}
block == "diff" && /^@@/ {
  apply_hunk()
  kept = 0
  next
}
block == "diff" && /^ / {
  apply_hunk()
  keep[++kept] = substr($0, 2)
}
block == "diff" && /^\+/ { add[++added] = substr($0, 2) }

END {
  if (failed) exit 1
  if (!found_recipe) fail("there is no section \"Add an operation\"")
}

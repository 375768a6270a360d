#!/usr/bin/env bash
# Fails if a C++ file is not as .clang-format wants it; with --fix, mends it.
#
# The version is fixed: each one of clang-format breaks some lines differently.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then
  mode=(-i)
fi

shopt -s nullglob
folders=({bench,examples,include,src,tests,tools}/)
find "${folders[@]}" \( -name '*.h' -o -name '*.cpp' \) -print0 |
  sort --zero-terminated |
  xargs --null --no-run-if-empty clang-format-14 --style=file "${mode[@]}"

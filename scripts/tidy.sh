#!/usr/bin/env bash
# Runs clang-tidy over the project's own sources.
#
#   scripts/tidy.sh           over everything
#   scripts/tidy.sh FILE...   over these
set -euo pipefail
cd "$(dirname "$0")/.."

# Its own build folder, configured and never built: tidy wants the commands of
# Clang, without precompiled headers.
cmake --preset clang -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  -DTOPOS_CCACHE=OFF -DTOPOS_BUILD_BENCH=ON > /dev/null

# What CMake compiles of ours (not the snippets and probes that it generates).
sources() {
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/tidy/compile_commands.json |
    grep -v "^$PWD/build/" | sort -u
}

if (($# > 0)); then
  printf '%s\0' "$@"
else
  sources | tr '\n' '\0'
fi |
  xargs --null --no-run-if-empty --max-args=1 \
    --max-procs="${JOBS:-$(nproc)}" clang-tidy-16 -p build/tidy --quiet

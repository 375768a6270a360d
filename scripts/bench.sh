#!/usr/bin/env bash
# Builds the benchmarks and prints the tables.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset release -DTOPOS_BUILD_BENCH=ON
cmake --build --preset release --target topos_bench
for threads in 1 2; do
  build/release/bin/topos_bench --threads "$threads" "$@"
done

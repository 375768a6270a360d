#!/usr/bin/env bash
# Builds the benchmarks and prints the tables.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset release -DTOPOS_BUILD_BENCH=ON
cmake --build --preset release --target topos_bench
# A CPU that OpenBLAS does not know gets its oldest kernels; then the rival is a
# straw man. Name the best that this CPU runs, unless the caller has chosen.
if [ -z "${OPENBLAS_CORETYPE:-}" ]; then
  if grep -qw avx512f /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX
  elif grep -qw avx2 /proc/cpuinfo; then export OPENBLAS_CORETYPE=Haswell
  fi
fi
echo "OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-detected}"
for threads in 1 2; do
  build/release/bin/topos_bench --threads "$threads" "$@"
done

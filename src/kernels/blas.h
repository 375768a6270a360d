// Products by CBLAS, for fast numerics: its sums are in its own order.

#pragma once

#include <concepts>
#include <cstddef>

#include "kernels/matmul.h"

namespace topos::kernels {

/// Whether topos was built with a CBLAS (the option TOPOS_CBLAS) and it pays:
/// where the instruction set has no fused multiply-add of vectors, and ours is
/// emulated to the bit. Elsewhere ours is as fast (docs/performance.md).
bool blas_pays();

/// Whether CBLAS can describe a matrix: one of its strides is 1, and rows, or
/// columns, do not overlap.
bool blas_takes(MatrixStrides strides, std::size_t rows, std::size_t columns);

/// c [m, n] = a [m, k] b [k, n] on the calling thread. For f32 and f64, only
/// where blas_pays(). The first call tells OpenBLAS to start no threads of its
/// own.
template <std::floating_point T>
void blas_multiply(const T* a, MatrixStrides a_strides, const T* b,
                   MatrixStrides b_strides, T* c, std::ptrdiff_t c_row,
                   MatmulShape shape);

}  // namespace topos::kernels

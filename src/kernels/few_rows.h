// Products of few rows, which read the right operand once and where it lies:
// packing it would cost as much as the product.

#pragma once

#include <cstddef>

#include "kernels/matmul.h"

namespace topos::kernels {

/// The most rows of such a product.
inline constexpr std::size_t few_rows = 16;

/// c [m, n] = a [m, k] b [k, n], m <= few_rows, with exactly the bits of
/// ops/matmul_reference.h. The rows of b and c are contiguous, b_row and c_row
/// elements apart; c overlaps no operand. `scratch` has matmul_scratch_bytes.
void multiply_few_rows(const float* a, MatrixStrides a_strides, const float* b,
                       std::ptrdiff_t b_row, float* c, std::ptrdiff_t c_row,
                       MatmulShape shape, void* scratch);
void multiply_few_rows(const double* a, MatrixStrides a_strides,
                       const double* b, std::ptrdiff_t b_row, double* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch);

}  // namespace topos::kernels

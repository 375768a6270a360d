// Products of few rows, which read the right operand once and where it lies:
// packing it would cost as much as the product.

#pragma once

#include <cstddef>

#include "kernels/matmul.h"

namespace topos::kernels {

/// The most rows of such a product.
inline constexpr std::size_t few_rows = 16;
/// With more rows than these, contiguous rows of b are as well read by
/// matmul_in_place.
inline constexpr std::size_t streamed_rows = 4;

/// c [m, n] = a [m, k] b [k, n], m <= few_rows, with exactly the bits of
/// ops/matmul_reference.h. The rows or the columns of b are contiguous: one of
/// its strides is 1. c is row-major with a row stride in elements and overlaps
/// no operand. `scratch` has matmul_scratch_bytes.
void multiply_few_rows(const float* a, MatrixStrides a_strides, const float* b,
                       MatrixStrides b_strides, float* c, std::ptrdiff_t c_row,
                       MatmulShape shape, void* scratch);
void multiply_few_rows(const double* a, MatrixStrides a_strides,
                       const double* b, MatrixStrides b_strides, double* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch);

}  // namespace topos::kernels

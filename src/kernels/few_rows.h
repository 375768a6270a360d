// Products of few rows, which read the right operand once and where it lies:
// packing it would cost as much as the product.

#pragma once

#include <cstddef>

#include "kernels/matmul.h"

namespace topos::kernels {

/// The most rows of such a product where the rows of b are contiguous: with
/// more, matmul_in_place reads it as well; and where b is of 16 bits.
inline constexpr std::size_t streamed_rows = 4;
/// The most rows where the columns of b are contiguous.
inline constexpr std::size_t few_rows = 16;

/// c [m, n] = a [m, k] b [k, n] with exactly the bits of
/// ops/matmul_reference.h, of few rows as above. The rows or the columns of b
/// are contiguous: one of its strides is 1. 16-bit types are widened. c is
/// row-major with a row stride in elements and overlaps no operand. `scratch`
/// has matmul_scratch_bytes.
void multiply_few_rows(const float* a, MatrixStrides a_strides, const float* b,
                       MatrixStrides b_strides, float* c, std::ptrdiff_t c_row,
                       MatmulShape shape, void* scratch);
void multiply_few_rows(const float* a, MatrixStrides a_strides,
                       const BFloat16* b, MatrixStrides b_strides, float* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch);
void multiply_few_rows(const float* a, MatrixStrides a_strides,
                       const Float16* b, MatrixStrides b_strides, float* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch);
void multiply_few_rows(const double* a, MatrixStrides a_strides,
                       const double* b, MatrixStrides b_strides, double* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch);

}  // namespace topos::kernels

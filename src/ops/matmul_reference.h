// The definition of a matrix product, bit by bit: the lines that the
// interpreter runs and that every kernel is tested against.

#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

namespace topos::ops {

/// The extent of k over which one chain runs.
inline constexpr std::size_t matmul_block = 512;

/// One element of a product: a[0] b[0] + a[1] b[1] + ... + a[k-1] b[k-1].
///
/// k is cut into blocks of 512. Within a block one chain of fused
/// multiply-adds runs from +0, k ascending; the blocks' sums are added in
/// ascending order, and the first one starts the total. Without terms, +0.
/// Strides count elements; zero and negative ones are fine.
template <std::floating_point T>
T dot_reference(const T* a, std::ptrdiff_t a_stride, const T* b,
                std::ptrdiff_t b_stride, std::size_t k) {
  T total = 0;
  for (std::size_t begin = 0; begin < k; begin += matmul_block) {
    const std::size_t end = k - begin < matmul_block ? k : begin + matmul_block;
    T sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto index = static_cast<std::ptrdiff_t>(i);
      sum = std::fma(a[index * a_stride], b[index * b_stride], sum);
    }
    total = begin == 0 ? sum : total + sum;
  }
  return total;
}

/// Where the elements of a matrix lie: (i, j) at i * row + j * column.
struct MatrixStrides {
  std::ptrdiff_t row;
  std::ptrdiff_t column;
};

/// c [m, n] = a [m, k] b [k, n]. c does not overlap a or b.
template <std::floating_point T>
void matmul_reference(const T* a, MatrixStrides a_strides, const T* b,
                      MatrixStrides b_strides, T* c, MatrixStrides c_strides,
                      std::size_t m, std::size_t n, std::size_t k) {
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      const auto i = static_cast<std::ptrdiff_t>(row);
      const auto j = static_cast<std::ptrdiff_t>(column);
      c[i * c_strides.row + j * c_strides.column] =
          dot_reference(a + i * a_strides.row, a_strides.column,
                        b + j * b_strides.column, b_strides.row, k);
    }
  }
}

}  // namespace topos::ops

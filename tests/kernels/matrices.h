// Shared by the tests of products: matrices in many layouts, and the reference.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "kernels/every_target.h"
#include "kernels/matmul.h"
#include "ops/matmul_reference.h"

namespace topos::kernels::test {

// A matrix that owns more storage than it shows, in one of several layouts.
template <class T>
struct Matrix {
  std::vector<T> storage;
  std::ptrdiff_t origin = 0;
  MatrixStrides strides{};

  const T* data() const { return storage.data() + origin; }
};

enum class Layout {
  rows,        // row-major
  columns,     // transposed
  padded,      // row-major, rows apart
  spread,      // both strides greater than dense
  reversed,    // both strides negative
  same_row,    // row stride 0
  same_column  // column stride 0
};

template <class T>
Matrix<T> matrix(std::mt19937& random, std::size_t rows, std::size_t columns,
                 Layout layout, Values kind) {
  const auto m = static_cast<std::ptrdiff_t>(rows);
  const auto n = static_cast<std::ptrdiff_t>(columns);
  Matrix<T> result;
  result.strides = [&]() -> MatrixStrides {
    switch (layout) {
      case Layout::columns:
        return {1, m};
      case Layout::padded:
        return {n + 5, 1};
      case Layout::spread:
        return {3 * n + 1, 3};
      case Layout::reversed:
        return {-n, -1};
      case Layout::same_row:
        return {0, 1};
      case Layout::same_column:
        return {1, 0};
      case Layout::rows:
        break;
    }
    return {n, 1};
  }();
  if (layout == Layout::reversed) result.origin = std::max(m * n - 1, {});
  const std::size_t size = layout == Layout::spread   ? (3 * columns + 1) * rows
                           : layout == Layout::padded ? (columns + 5) * rows
                                                      : rows * columns;
  result.storage = random_values<T>(
      random, std::max({size, rows, columns, std::size_t{1}}), kind);
  return result;
}

// Aligned as an engine's buffers are, with guards that nobody may touch.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : values_(bytes / sizeof(T) + 2 * guard, T{77}) {}
  T* data() { return values_.data() + guard; }
  void check() const {
    for (std::size_t i = 0; i < guard; ++i) {
      ASSERT_EQ(values_[i], T{77});
      ASSERT_EQ(values_[values_.size() - 1 - i], T{77});
    }
  }

 private:
  static constexpr std::size_t guard = 64;
  std::vector<T> values_;
};

// c has two columns more than the product, which must keep what they hold.
template <class T>
std::vector<T> reference(const Matrix<T>& a, const Matrix<T>& b,
                         MatmulShape shape) {
  std::vector<T> c(shape.m * (shape.n + 2), T{-7});
  ops::matmul_reference(a.data(), a.strides, b.data(), b.strides, c.data(),
                        {static_cast<std::ptrdiff_t>(shape.n + 2), 1}, shape.m,
                        shape.n, shape.k);
  return c;
}

}  // namespace topos::kernels::test

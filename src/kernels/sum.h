// Sums with exactly the bits of ops/sum_reference.h, on every target. Results
// are in double precision and not rounded: the caller divides or rounds once.

#pragma once

#include <cstddef>

namespace topos::kernels {

/// out[r] = the sum of x[r, 0], x[r, 1], ..., x[r, columns - 1], for r < rows.
/// Rows are contiguous and lie row_stride elements apart.
void sum_rows(const float* x, std::ptrdiff_t row_stride, std::size_t rows,
              std::size_t columns, double* out);
void sum_rows(const double* x, std::ptrdiff_t row_stride, std::size_t rows,
              std::size_t columns, double* out);

/// The same of products, each rounded: a[r, c] b[r, c]. Rows lie without gaps.
void sum_rows_of_products(const float* a, const float* b, std::size_t rows,
                          std::size_t columns, double* out);

/// out[c] = the sum of x[0, c], x[1, c], ..., x[rows - 1, c], for c < columns.
/// Threads divide columns, never rows.
void sum_columns(const float* x, std::ptrdiff_t row_stride, std::size_t rows,
                 std::size_t columns, double* out);
void sum_columns(const double* x, std::ptrdiff_t row_stride, std::size_t rows,
                 std::size_t columns, double* out);

}  // namespace topos::kernels

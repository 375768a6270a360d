// Row formulas of sums, compiled once per instruction set. Rows are taken in
// pieces that stay in L1, so that memory is read and written once.

#include "kernels/rows.h"

#include <algorithm>

#include "kernels/row_pieces.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/doubles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::size_t;

/// y = f64(x) - mean, rounded once.
template <class T>
HWY_INLINE void subtract_mean(const T* x, double mean, T* y, size_t n) {
  const auto by = hn::Set(doubles::Tag(), mean);
  constexpr size_t width = doubles::width;
  size_t i = 0;
  for (; i + width <= n; i += width) {
    doubles::store(hn::Sub(doubles::load(x + i), by), y + i, width);
  }
  if (i < n) {
    doubles::store(hn::Sub(doubles::load(x + i, n - i), by), y + i, n - i);
  }
}

template <class T>
void center(const T* x, T* y, size_t rows, size_t columns) {
  const size_t together = std::max<size_t>(rows_together(rows, columns), 1);
  const auto n = static_cast<double>(columns);
  double sums[piece_rows];
  for (size_t r = 0; r < rows; r += together) {
    const size_t count = std::min(together, rows - r);
    sums_of(x + r * columns, count, columns, sums);
    for (size_t i = r; i < r + count; ++i) {
      subtract_mean(x + i * columns, sums[i - r] / n, y + i * columns, columns);
    }
  }
}

void center_f32(const float* x, float* y, size_t rows, size_t columns) {
  center(x, y, rows, columns);
}

void center_f64(const double* x, double* y, size_t rows, size_t columns) {
  center(x, y, rows, columns);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(center_f32);
HWY_EXPORT(center_f64);

template <>
void center_rows(const float* x, float* y, std::size_t rows,
                 std::size_t columns) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(center_f32)(x, y, rows, columns);
}

template <>
void center_rows(const double* x, double* y, std::size_t rows,
                 std::size_t columns) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(center_f64)(x, y, rows, columns);
}

namespace {

/// y = f(sum) of each row.
template <class T, class F>
void of_sums(const T* x, T* y, std::size_t rows, std::size_t columns, F f) {
  double sums[piece_rows];
  for (std::size_t r = 0; r < rows; r += piece_rows) {
    const std::size_t count = std::min(piece_rows, rows - r);
    sums_of(x + r * columns, count, columns, sums);
    for (std::size_t i = 0; i < count; ++i) {
      y[r + i] = static_cast<T>(f(sums[i]));
    }
  }
}

}  // namespace

template <std::floating_point T>
void sum_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns) {
  of_sums(x, y, rows, columns, [](double sum) { return sum; });
}

template <std::floating_point T>
void mean_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns) {
  const auto n = static_cast<double>(columns);
  of_sums(x, y, rows, columns, [n](double sum) { return sum / n; });
}

template void sum_of_rows(const float*, float*, std::size_t, std::size_t);
template void sum_of_rows(const double*, double*, std::size_t, std::size_t);
template void mean_of_rows(const float*, float*, std::size_t, std::size_t);
template void mean_of_rows(const double*, double*, std::size_t, std::size_t);

}  // namespace topos::kernels

#endif  // HWY_ONCE

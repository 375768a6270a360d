// Sums in 16 lanes of double precision, compiled once per instruction set. The
// lanes of the contract are spread over however many vectors they fill, so the
// vector width changes no bit.

#include "kernels/sum.h"

#include <algorithm>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"
#include "ops/sum_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sum.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/doubles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using ops::sum_block;
using ops::sum_lanes;
using std::ptrdiff_t;
using std::size_t;

using Doubles = doubles::Tag;
using doubles::lane_vectors;
using doubles::load;
using doubles::Vector;
using doubles::width;

/// What is summed: width elements from i on, or the first of them.
template <class T>
struct Elements {
  const T* x;

  HWY_INLINE Vector at(size_t i) const { return load(x + i); }
  HWY_INLINE Vector at(size_t i, size_t count) const {
    return load(x + i, count);
  }
  HWY_INLINE Elements from(size_t i) const { return {x + i}; }
};

struct Products {
  const float* a;
  const float* b;

  HWY_INLINE Vector at(size_t i) const {
    const doubles::Narrow d;
    return hn::PromoteTo(Doubles(),
                         hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
  }
  HWY_INLINE Vector at(size_t i, size_t count) const {
    const doubles::Narrow d;
    return hn::PromoteTo(Doubles(), hn::Mul(load_first(d, a + i, count),
                                            load_first(d, b + i, count)));
  }
  HWY_INLINE Products from(size_t i) const { return {a + i, b + i}; }
};

// The sum of one block of n <= 4096 contiguous elements.
template <class X>
HWY_INLINE double sum_of_block(const X& x, size_t n) {
  Vector sum[lane_vectors];
  TOPOS_UNROLL
  for (size_t v = 0; v < lane_vectors; ++v) sum[v] = hn::Zero(Doubles());
  size_t i = 0;
  for (; i + sum_lanes <= n; i += sum_lanes) {
    TOPOS_UNROLL
    for (size_t v = 0; v < lane_vectors; ++v) {
      sum[v] = hn::Add(sum[v], x.at(i + v * width));
    }
  }
  // A lane is never -0, so the +0 that fills the rest leaves it as it is.
  TOPOS_UNROLL
  for (size_t v = 0; v < lane_vectors; ++v) {
    const size_t at = i + v * width;
    if (at < n) sum[v] = hn::Add(sum[v], x.at(at, std::min(width, n - at)));
  }
  return doubles::sum_of_lanes(sum);
}

template <class X>
HWY_INLINE double sum_of_row(const X& x, size_t columns) {
  double total = sum_of_block(x, std::min(sum_block, columns));
  for (size_t i = sum_block; i < columns; i += sum_block) {
    total += sum_of_block(x.from(i), std::min(sum_block, columns - i));
  }
  return total;
}

template <class T>
void rows_of(const T* x, ptrdiff_t row_stride, size_t rows, size_t columns,
             double* out) {
  for (size_t r = 0; r < rows; ++r, x += row_stride) {
    out[r] = sum_of_row(Elements<T>{x}, columns);
  }
}

void products_f32(const float* a, const float* b, size_t rows, size_t columns,
                  double* out) {
  for (size_t r = 0; r < rows; ++r, a += columns, b += columns) {
    out[r] = sum_of_row(Products{a, b}, columns);
  }
}

// Columns that are summed together: their lanes stay in a near cache.
inline constexpr size_t strip_columns = 256;

// Each row is read along its columns, so that rows a power of two apart, which
// share a few sets of the cache, come and go one after another. The price is
// accumulators in memory; rows of the same lane taken together divide it.
inline constexpr size_t rows_together = 4;

struct Lanes {
  alignas(64) double of[sum_lanes][strip_columns];
};

// lane[c] += x[0, c], then x[1, c], ...; `start` sets it to +0 first.
template <size_t rows, class T>
HWY_INLINE void add_rows(double* HWY_RESTRICT lane, const T* HWY_RESTRICT x,
                         ptrdiff_t row_step, size_t columns, bool start) {
  const Doubles d;
  for (size_t c = 0; c < columns; c += width) {
    const size_t count = std::min(width, columns - c);
    Vector sum = start ? hn::Zero(d) : hn::Load(d, lane + c);
    TOPOS_UNROLL
    for (size_t row = 0; row < rows; ++row) {
      sum = hn::Add(
          sum, load(x + static_cast<ptrdiff_t>(row) * row_step + c, count));
    }
    hn::Store(sum, d, lane + c);
  }
}

// Fills the lanes of one block of `rows` <= 4096 rows.
template <class T>
HWY_INLINE void add_block(Lanes& lanes, const T* x, ptrdiff_t row_stride,
                          size_t rows, size_t columns) {
  const ptrdiff_t step = static_cast<ptrdiff_t>(sum_lanes) * row_stride;
  size_t row = 0;
  for (; row + rows_together * sum_lanes <= rows;
       row += rows_together * sum_lanes) {
    for (size_t l = 0; l < sum_lanes; ++l) {
      add_rows<rows_together>(lanes.of[l],
                              x + static_cast<ptrdiff_t>(row + l) * row_stride,
                              step, columns, row == 0);
    }
  }
  for (; row < rows; ++row) {
    add_rows<1>(lanes.of[row % sum_lanes],
                x + static_cast<ptrdiff_t>(row) * row_stride, step, columns,
                row < sum_lanes);
  }
  for (; row < sum_lanes; ++row) {
    add_rows<0>(lanes.of[row], x, step, columns, true);
  }
}

// The lanes of each column meet.
HWY_INLINE void close_block(const Lanes& lanes, size_t columns,
                            bool first_block, double* out) {
  const Doubles d;
  for (size_t c = 0; c < columns; c += width) {
    Vector sum[sum_lanes / 2];
    TOPOS_UNROLL
    for (size_t l = 0; l < sum_lanes / 2; ++l) {
      sum[l] = hn::Add(hn::Load(d, &lanes.of[l][c]),
                       hn::Load(d, &lanes.of[l + sum_lanes / 2][c]));
    }
    TOPOS_UNROLL
    for (size_t half = sum_lanes / 4; half > 0; half /= 2) {
      TOPOS_UNROLL
      for (size_t l = 0; l < half; ++l) sum[l] = hn::Add(sum[l], sum[l + half]);
    }
    const size_t count = std::min(width, columns - c);
    if (!first_block) {
      sum[0] = hn::Add(load(out + c, count), sum[0]);
    }
    if (count == width) {
      hn::StoreU(sum[0], d, out + c);
    } else {
      store_first(d, sum[0], out + c, count);
    }
  }
}

template <class T>
void columns_of(const T* x, ptrdiff_t row_stride, size_t rows, size_t columns,
                double* out) {
  Lanes lanes;  // written before they are read
  for (size_t first = 0; first < columns; first += strip_columns) {
    const size_t strip = std::min(strip_columns, columns - first);
    for (size_t block = 0; block == 0 || block < rows; block += sum_block) {
      add_block(lanes, x + static_cast<ptrdiff_t>(block) * row_stride + first,
                row_stride, std::min(sum_block, rows - block), strip);
      close_block(lanes, strip, block == 0, out + first);
    }
  }
}

void rows_f32(const float* x, ptrdiff_t row_stride, size_t rows, size_t columns,
              double* out) {
  rows_of(x, row_stride, rows, columns, out);
}

void rows_f64(const double* x, ptrdiff_t row_stride, size_t rows,
              size_t columns, double* out) {
  rows_of(x, row_stride, rows, columns, out);
}

void columns_f32(const float* x, ptrdiff_t row_stride, size_t rows,
                 size_t columns, double* out) {
  columns_of(x, row_stride, rows, columns, out);
}

void columns_f64(const double* x, ptrdiff_t row_stride, size_t rows,
                 size_t columns, double* out) {
  columns_of(x, row_stride, rows, columns, out);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(rows_f32);
HWY_EXPORT(rows_f64);
HWY_EXPORT(products_f32);
HWY_EXPORT(columns_f32);
HWY_EXPORT(columns_f64);

void sum_rows(const float* x, std::ptrdiff_t row_stride, std::size_t rows,
              std::size_t columns, double* out) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(rows_f32)(x, row_stride, rows, columns, out);
}

void sum_rows(const double* x, std::ptrdiff_t row_stride, std::size_t rows,
              std::size_t columns, double* out) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(rows_f64)(x, row_stride, rows, columns, out);
}

void sum_rows_of_products(const float* a, const float* b, std::size_t rows,
                          std::size_t columns, double* out) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(products_f32)(a, b, rows, columns, out);
}

void sum_columns(const float* x, std::ptrdiff_t row_stride, std::size_t rows,
                 std::size_t columns, double* out) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(columns_f32)(x, row_stride, rows, columns, out);
}

void sum_columns(const double* x, std::ptrdiff_t row_stride, std::size_t rows,
                 std::size_t columns, double* out) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(columns_f64)(x, row_stride, rows, columns, out);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

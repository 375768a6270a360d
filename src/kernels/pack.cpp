// Packing of right operands, compiled once per instruction set for wide moves.

#include <algorithm>
#include <cstddef>

#include "kernels/matmul.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pack.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::ptrdiff_t;
using std::size_t;

// Rows of `columns` contiguous elements.
template <class T>
void pack_contiguous(T* HWY_RESTRICT to, const T* from, ptrdiff_t row_stride,
                     size_t rows, size_t columns) {
  const hn::ScalableTag<T> d;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  constexpr size_t width = panel_columns<T>;
  for (size_t row = 0; row < rows; ++row) {
    if (columns == width) {
      TOPOS_UNROLL
      for (size_t j = 0; j < width; j += lanes) {
        hn::StoreU(hn::LoadU(d, from + j), d, to + j);
      }
    } else {
      for (size_t j = 0; j < width; j += lanes) {
        auto v = hn::Zero(d);
        if (j + lanes <= columns) {
          v = hn::LoadU(d, from + j);
        } else if (j < columns) {
          v = load_first(d, from + j, columns - j);
        }
        hn::StoreU(v, d, to + j);
      }
    }
    to += width;
    from += row_stride;
  }
}

template <class T>
void pack_any(T* HWY_RESTRICT to, const T* from, MatrixStrides strides,
              size_t rows, size_t columns) {
  constexpr size_t width = panel_columns<T>;
  for (size_t row = 0; row < rows; ++row) {
    const T* x = from + static_cast<ptrdiff_t>(row) * strides.row;
    for (size_t j = 0; j < columns; ++j, x += strides.column) to[j] = *x;
    std::fill(to + columns, to + width, T{0});
    to += width;
  }
}

// Panels side by side, a few rows at a time: the source is read along its rows
// as far as the caches like.
inline constexpr size_t rows_at_once = 16;

#if HWY_TARGET != HWY_SCALAR

// to[i, j] = from[j][i] for a square of 16 bytes a side.
HWY_INLINE void transpose_square(float* HWY_RESTRICT to,
                                 const float* const* from) {
  constexpr size_t step = panel_columns<float>;
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pairs;
  const auto r0 = hn::LoadU(d, from[0]);
  const auto r1 = hn::LoadU(d, from[1]);
  const auto r2 = hn::LoadU(d, from[2]);
  const auto r3 = hn::LoadU(d, from[3]);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d,
             to + step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d,
             to + 2 * step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d,
             to + 3 * step);
}

HWY_INLINE void transpose_square(double* HWY_RESTRICT to,
                                 const double* const* from) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, from[0]);
  const auto r1 = hn::LoadU(d, from[1]);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + panel_columns<double>);
}

template <class T>
inline constexpr size_t square_side = 16 / sizeof(T);

// Columns of contiguous elements; at least a square's side of rows. A square at
// a time, along a column first, so that each line of the source is used up
// while it is at hand. The last square of a column overlaps the one before, and
// columns that do not exist are columns of +0.
template <class T>
void pack_transposed(T* HWY_RESTRICT to, const T* from, ptrdiff_t column_stride,
                     size_t rows, size_t columns) {
  constexpr size_t width = panel_columns<T>;
  constexpr size_t side = square_side<T>;
  static constexpr T zeros[rows_at_once] = {};
  for (size_t j = 0; j < width; j += side) {
    const T* column[side];
    for (size_t i = 0; i < side; ++i) {
      column[i] = j + i < columns
                      ? from + static_cast<ptrdiff_t>(j + i) * column_stride
                      : zeros;
    }
    for (size_t next = 0; next < rows; next += side) {
      const size_t row = std::min(next, rows - side);
      const T* square[side];
      for (size_t i = 0; i < side; ++i) square[i] = column[i] + row;
      transpose_square(to + row * width + j, square);
    }
  }
}

#endif

template <class T>
void pack(T* packed, const T* b, MatrixStrides strides, size_t k, size_t n,
          Range panels) {
  constexpr size_t width = panel_columns<T>;
  for (size_t done = 0; done < k; done += rows_at_once) {
    // A short rest is packed together with rows before it.
    const size_t row = k > rows_at_once ? std::min(done, k - rows_at_once) : 0;
    const size_t rows = std::min(rows_at_once, k);
    for (size_t p = panels.begin; p < panels.end; ++p) {
      const size_t columns = std::min(width, n - p * width);
      T* to = packed + (p * k + row) * width;
      const T* from = b + static_cast<ptrdiff_t>(row) * strides.row +
                      static_cast<ptrdiff_t>(p * width) * strides.column;
      if (strides.column == 1) {
        pack_contiguous(to, from, strides.row, rows, columns);
#if HWY_TARGET != HWY_SCALAR
      } else if (strides.row == 1 && rows >= square_side<T>) {
        pack_transposed(to, from, strides.column, rows, columns);
#endif
      } else {
        pack_any(to, from, strides, rows, columns);
      }
    }
  }
}

void pack_f32(float* packed, const float* b, MatrixStrides strides, size_t k,
              size_t n, Range panels) {
  pack(packed, b, strides, k, n, panels);
}

void pack_f64(double* packed, const double* b, MatrixStrides strides, size_t k,
              size_t n, Range panels) {
  pack(packed, b, strides, k, n, panels);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(pack_f32);
HWY_EXPORT(pack_f64);

void pack_right(float* packed, const float* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(pack_f32)(packed, b, b_strides, k, n, panels);
}

void pack_right(double* packed, const double* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(pack_f64)(packed, b, b_strides, k, n, panels);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

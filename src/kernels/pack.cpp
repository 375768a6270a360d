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
#include "kernels/transpose-inl.h"
#include "kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::ptrdiff_t;
using std::size_t;

// Rows of `columns` contiguous elements.
template <class T, class S>
void pack_contiguous(T* HWY_RESTRICT to, const S* from, ptrdiff_t row_stride,
                     size_t rows, size_t columns) {
  const hn::ScalableTag<T> d;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  constexpr size_t width = panel_columns<T>;
  for (size_t row = 0; row < rows; ++row) {
    if (columns == width) {
      TOPOS_UNROLL
      for (size_t j = 0; j < width; j += lanes) {
        hn::StoreU(load_wide(d, from + j), d, to + j);
      }
    } else {
      for (size_t j = 0; j < width; j += lanes) {
        auto v = hn::Zero(d);
        if (j + lanes <= columns) {
          v = load_wide(d, from + j);
        } else if (j < columns) {
          v = load_wide_first(d, from + j, columns - j);
        }
        hn::StoreU(v, d, to + j);
      }
    }
    to += width;
    from += row_stride;
  }
}

template <class T, class S>
void pack_any(T* HWY_RESTRICT to, const S* from, MatrixStrides strides,
              size_t rows, size_t columns) {
  constexpr size_t width = panel_columns<T>;
  for (size_t row = 0; row < rows; ++row) {
    const S* x = from + static_cast<ptrdiff_t>(row) * strides.row;
    for (size_t j = 0; j < columns; ++j, x += strides.column) to[j] = *x;
    std::fill(to + columns, to + width, T{0});
    to += width;
  }
}

#if HWY_TARGET != HWY_SCALAR

// Rows at a time whose columns are contiguous. Wide vectors fill whole lines of
// a panel, and long pieces of columns are read as streams; narrow ones come
// back to each line while it is in the first cache.
inline constexpr size_t transposed_rows =
    hn::MaxLanes(hn::ScalableTag<float>()) == 16 ? 512 : 64;

// Columns of contiguous elements; at least a block's worth of rows. The last
// block of a column overlaps the one before, and columns that do not exist are
// columns of +0.
template <class T>
void pack_transposed(T* HWY_RESTRICT to, const T* from, ptrdiff_t column_stride,
                     size_t rows, size_t columns) {
  constexpr size_t width = panel_columns<T>;
  const hn::ScalableTag<T> d;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  static constexpr T zeros[transposed_rows] = {};
  for (size_t j = 0; j < width; j += lanes) {
    const T* column[lanes];
    for (size_t i = 0; i < lanes; ++i) {
      column[i] = j + i < columns
                      ? from + static_cast<ptrdiff_t>(j + i) * column_stride
                      : zeros;
    }
    for (size_t next = 0; next < rows; next += block<T>) {
      const size_t row = std::min(next, rows - block<T>);
      hn::Vec<decltype(d)> across[block<T>];
      rows_of_columns(d, column, row, across);
      TOPOS_UNROLL
      for (size_t i = 0; i < block<T>; ++i) {
        hn::StoreU(across[i], d, to + (row + i) * width + j);
      }
    }
  }
}

// The same of another type: pieces of the columns are widened first.
template <class T, class S>
void pack_transposed(T* HWY_RESTRICT to, const S* from, ptrdiff_t column_stride,
                     size_t rows, size_t columns) {
  constexpr size_t width = panel_columns<T>;
  constexpr size_t piece = 64;
  HWY_ALIGN T wide[width * piece];
  for (size_t next = 0; next < rows; next += piece) {
    // A short rest is turned together with rows before it.
    const size_t row = rows > piece ? std::min(next, rows - piece) : 0;
    const size_t count = std::min(piece, rows);
    for (size_t j = 0; j < columns; ++j) {
      widen_all(from + static_cast<ptrdiff_t>(j) * column_stride + row,
                wide + j * piece, count);
    }
    pack_transposed(to + row * width, wide, static_cast<ptrdiff_t>(piece),
                    count, columns);
  }
}

#endif

// Rows at a time: panels side by side, so that the source is read along its
// rows.
inline constexpr size_t rows_at_once = 16;

// Calls body(row, rows) for all k; a short rest is packed together with rows
// before it.
template <class Body>
HWY_INLINE void for_rows(size_t k, size_t at_once, Body body) {
  for (size_t done = 0; done < k; done += at_once) {
    body(k > at_once ? std::min(done, k - at_once) : 0, std::min(at_once, k));
  }
}

template <class T, class S>
void pack(T* packed, const S* b, MatrixStrides strides, size_t k, size_t n,
          Range panels) {
  constexpr size_t width = panel_columns<T>;
  const auto to = [&](size_t p, size_t row) {
    return packed + (p * k + row) * width;
  };
  const auto from = [&](size_t p, size_t row) {
    return b + static_cast<ptrdiff_t>(row) * strides.row +
           static_cast<ptrdiff_t>(p * width) * strides.column;
  };
  const auto columns = [&](size_t p) { return std::min(width, n - p * width); };
#if HWY_TARGET != HWY_SCALAR
  if (strides.row == 1 && strides.column != 1 && k >= block<T>) {
    for (size_t p = panels.begin; p < panels.end; ++p) {
      for_rows(k, transposed_rows, [&](size_t row, size_t rows) {
        pack_transposed(to(p, row), from(p, row), strides.column, rows,
                        columns(p));
      });
    }
    return;
  }
#endif
  for_rows(k, rows_at_once, [&](size_t row, size_t rows) {
    for (size_t p = panels.begin; p < panels.end; ++p) {
      if (strides.column == 1) {
        pack_contiguous(to(p, row), from(p, row), strides.row, rows,
                        columns(p));
      } else {
        pack_any(to(p, row), from(p, row), strides, rows, columns(p));
      }
    }
  });
}

// Not templates: HWY_EXPORT wants plain functions.
void pack_f32(float* packed, const float* b, MatrixStrides strides, size_t k,
              size_t n, Range panels) {
  pack(packed, b, strides, k, n, panels);
}

void pack_bf16(float* packed, const BFloat16* b, MatrixStrides strides,
               size_t k, size_t n, Range panels) {
  pack(packed, b, strides, k, n, panels);
}

void pack_f16(float* packed, const Float16* b, MatrixStrides strides, size_t k,
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
HWY_EXPORT(pack_bf16);
HWY_EXPORT(pack_f16);
HWY_EXPORT(pack_f64);

void pack_right(float* packed, const float* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(pack_f32)(packed, b, b_strides, k, n, panels);
}

void pack_right(float* packed, const BFloat16* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(pack_bf16)(packed, b, b_strides, k, n, panels);
}

void pack_right(float* packed, const Float16* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(pack_f16)(packed, b, b_strides, k, n, panels);
}

void pack_right(double* packed, const double* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(pack_f64)(packed, b, b_strides, k, n, panels);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

// Products of few rows by contiguous columns of b: a vector's worth of them is
// turned into rows in registers.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_TURNED_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_TURNED_COLUMNS_INL_H
#undef TOPOS_KERNELS_TURNED_COLUMNS_INL_H
#else
#define TOPOS_KERNELS_TURNED_COLUMNS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/few_rows.h"
#include "kernels/simd-inl.h"
#include "kernels/transpose-inl.h"
#include "kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::ptrdiff_t;
using std::size_t;

#if TOPOS_VECTOR_FMA

// What 16-bit types are read as.
template <class S>
using Stored =
    std::conditional_t<std::is_floating_point_v<S>, S, std::uint16_t>;

// A vector's worth of columns, contiguous each, in one block of k.
template <class T, class S>
struct Columns {
  const T* a;
  ptrdiff_t a_row;
  ptrdiff_t a_column;
  const Stored<S>* const* column;
  ptrdiff_t next;  // how far from them what is read after this block lies
  size_t depth;
  T* c;
  ptrdiff_t c_row;
  size_t count;  // of columns that exist
  bool add;      // to c, which holds the sum of the blocks before
};

// Rows [row, row + block) of a vector's worth of columns, widened.
template <class S, class D, class V>
HWY_INLINE void wide_rows_of_columns(D d, const Stored<S>* const* column,
                                     size_t row, V (&rows)[block<S>]) {
  if constexpr (std::is_same_v<S, hn::TFromD<D>>) {
    rows_of_columns(d, column, row, rows);
  } else {
    const hn::Rebind<std::uint16_t, D> shorts;
    hn::Vec<decltype(shorts)> bits[block<S>];
    rows_of_columns(shorts, column, row, bits);
    TOPOS_UNROLL
    for (size_t i = 0; i < block<S>; ++i) rows[i] = widened<S>(d, bits[i]);
  }
}

template <class T, class S, int rows>
HWY_NOINLINE void multiply_columns(const Columns<T, S>& s) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  constexpr size_t line = 64 / sizeof(S);
  V sum[rows];
  TOPOS_UNROLL
  for (int r = 0; r < rows; ++r) sum[r] = hn::Zero(d);
  const T* a = s.a;
  const auto add_block = [&](const Stored<S>* const* column,
                             size_t row) HWY_ATTR {
    V right[block<S>];
    wide_rows_of_columns<S>(d, column, row, right);
    TOPOS_UNROLL
    for (size_t i = 0; i < block<S>; ++i) {
      TOPOS_UNROLL
      for (int r = 0; r < rows; ++r) {
        sum[r] =
            fused_multiply_add(d, hn::Set(d, a[r * s.a_row]), right[i], sum[r]);
      }
      a += s.a_column;
    }
  };
  // Columns may lie a power of two apart, where the first cache would keep a
  // few of their lines only: each is read once.
  HWY_ALIGN Stored<S> lines[lanes][line];
  const Stored<S>* copied[lanes];
  for (size_t i = 0; i < lanes; ++i) copied[i] = lines[i];
  size_t k = 0;
  for (; k + line <= s.depth; k += line) {
    for (size_t i = 0; i < lanes; ++i) {
      const Stored<S>* from = s.column[i] + k;
      __builtin_prefetch(from + s.next, 0, 2);
      std::memcpy(lines[i], from, sizeof(lines[i]));
    }
    for (size_t row = 0; row < line; row += block<S>) add_block(copied, row);
  }
  for (; k + block<S> <= s.depth; k += block<S>) add_block(s.column, k);
  for (; k < s.depth; ++k, a += s.a_column) {
    HWY_ALIGN T lane[lanes];
    for (size_t i = 0; i < lanes; ++i) {
      lane[i] = reinterpret_cast<const S*>(s.column[i])[k];
    }
    const V right = hn::Load(d, lane);
    TOPOS_UNROLL
    for (int r = 0; r < rows; ++r) {
      sum[r] = fused_multiply_add(d, hn::Set(d, a[r * s.a_row]), right, sum[r]);
    }
  }
  T* c = s.c;
  TOPOS_UNROLL
  for (int r = 0; r < rows; ++r) {
    V total = sum[r];
    if (s.add) total = hn::Add(load_first(d, c, s.count), total);
    store_first(d, total, c, s.count);
    c += s.c_row;
  }
}

// Rows that share a turned column, a sum in a register each: up to 8, or 16
// where there are as many registers; an emulated fused multiply-add takes more
// registers, and much code.
template <class T, class S>
inline constexpr size_t columns_rows = !HWY_NATIVE_FMA        ? 2
                                       : std::is_same_v<T, S> ? 8
                                                              : streamed_rows;
template <class T, class S>
inline constexpr bool takes_16 = std::is_same_v<T, S>&& HWY_TARGET == HWY_AVX3;

template <class T, class S>
constexpr size_t rows_of_group(size_t left) {
  if (takes_16<T, S> && left == 16) return 16;
  constexpr size_t most = columns_rows<T, S>;
  const size_t groups = (left + most - 1) / most;
  return (left + groups - 1) / groups;
}

template <class T, class S>
void multiply_columns(size_t rows, const Columns<T, S>& s) {
  switch (rows) {
#define TOPOS_ROWS(count)                        \
  case count:                                    \
    if constexpr (count <= columns_rows<T, S>) { \
      return multiply_columns<T, S, count>(s);   \
    }                                            \
    break;
    TOPOS_ROWS(1)
    TOPOS_ROWS(2)
    TOPOS_ROWS(3)
    TOPOS_ROWS(4)
    TOPOS_ROWS(5)
    TOPOS_ROWS(6)
    TOPOS_ROWS(7)
    TOPOS_ROWS(8)
#undef TOPOS_ROWS
    case 16:
      if constexpr (takes_16<T, S>) return multiply_columns<T, S, 16>(s);
      break;
    default:
      break;
  }
}

// Turned in registers if a vector has a block of them; else widened first.
template <class T, class S>
inline constexpr bool turns_in_registers =
    hn::MaxLanes(hn::ScalableTag<T>()) >= block<S>;

template <class T, class S>
void multiply_columns_of_b(const T* a, MatrixStrides a_strides, const S* b,
                           ptrdiff_t b_column, T* c, ptrdiff_t c_row,
                           MatmulShape shape, [[maybe_unused]] T* scratch) {
  using Turned = std::conditional_t<turns_in_registers<T, S>, S, T>;
  constexpr size_t lanes = hn::MaxLanes(hn::ScalableTag<T>());
  static constexpr S zeros[ops::matmul_block] = {};
  for (size_t j = 0; j < shape.n; j += lanes) {
    for (size_t k = 0; k < shape.k; k += ops::matmul_block) {
      const size_t depth = std::min(ops::matmul_block, shape.k - k);
      const Stored<Turned>* column[lanes];
      for (size_t i = 0; i < lanes; ++i) {
        const S* from = j + i < shape.n
                            ? b + static_cast<ptrdiff_t>(j + i) * b_column + k
                            : zeros;
        if constexpr (turns_in_registers<T, S>) {
          column[i] = reinterpret_cast<const Stored<S>*>(from);
        } else {
          T* const to = scratch + i * ops::matmul_block;
          widen_all(from, to, depth);
          column[i] = to;
        }
      }
      const bool is_last = k + ops::matmul_block >= shape.k;
      const ptrdiff_t next = is_last
                                 ? static_cast<ptrdiff_t>(lanes) * b_column -
                                       static_cast<ptrdiff_t>(k)
                                 : static_cast<ptrdiff_t>(ops::matmul_block);
      for (size_t row = 0; row < shape.m;) {
        const size_t rows = rows_of_group<T, Turned>(shape.m - row);
        const auto i = static_cast<ptrdiff_t>(row);
        multiply_columns<T, Turned>(
            rows,
            {a + i * a_strides.row +
                 static_cast<ptrdiff_t>(k) * a_strides.column,
             a_strides.row, a_strides.column, column, next, depth,
             c + i * c_row + j, c_row, std::min(lanes, shape.n - j), k > 0});
        row += rows;
      }
    }
  }
}

#endif  // TOPOS_VECTOR_FMA

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

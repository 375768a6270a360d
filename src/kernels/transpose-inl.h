// Columns that are contiguous in memory, as vectors across columns.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_TRANSPOSE_INL_H
#undef TOPOS_KERNELS_TRANSPOSE_INL_H
#else
#define TOPOS_KERNELS_TRANSPOSE_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd-inl.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

/// The elements of 16 bytes: the vectors of every target consist of such
/// blocks.
template <class T>
inline constexpr std::size_t block = 16 / sizeof(T);

/// A vector whose blocks lie in every `block`th column, from element `row` on.
template <class D, class T>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> blocks_of_columns(D d,
                                                        const T* const* column,
                                                        std::size_t row) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr std::size_t lanes = hn::MaxLanes(D());
  if constexpr (lanes == block<T>) {
    return hn::LoadU(d, column[0] + row);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, blocks_of_columns(half, column + lanes / 2, row),
                       blocks_of_columns(half, column, row));
  }
}

/// Rows [row, row + block) of a vector's worth of columns.
template <class D, class V>
HWY_INLINE void rows_of_columns(D d, const float* const* column,
                                std::size_t row, V (&rows)[4]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RepartitionToWide<D> pairs;
  const V r0 = blocks_of_columns(d, column, row);
  const V r1 = blocks_of_columns(d, column + 1, row);
  const V r2 = blocks_of_columns(d, column + 2, row);
  const V r3 = blocks_of_columns(d, column + 3, row);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  rows[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  rows[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  rows[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  rows[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

template <class D, class V>
HWY_INLINE void rows_of_columns(D d, const double* const* column,
                                std::size_t row, V (&rows)[2]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V r0 = blocks_of_columns(d, column, row);
  const V r1 = blocks_of_columns(d, column + 1, row);
  rows[0] = hn::InterleaveLower(d, r0, r1);
  rows[1] = hn::InterleaveUpper(d, r0, r1);
}

template <class D, class V>
HWY_INLINE void rows_of_columns(D d, const std::uint16_t* const* column,
                                std::size_t row, V (&rows)[8]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RepartitionToWide<D> d2;
  const hn::RepartitionToWide<decltype(d2)> d4;
  hn::Vec<decltype(d2)> low2[4];  // of two columns each, rows [0, 4)
  hn::Vec<decltype(d2)> high2[4];
  TOPOS_UNROLL
  for (std::size_t i = 0; i < 4; ++i) {
    const V even = blocks_of_columns(d, column + 2 * i, row);
    const V odd = blocks_of_columns(d, column + 2 * i + 1, row);
    low2[i] = hn::BitCast(d2, hn::InterleaveLower(d, even, odd));
    high2[i] = hn::BitCast(d2, hn::InterleaveUpper(d, even, odd));
  }
  const auto turn = [&](const auto(&x)[4], std::size_t first) {
    const auto low01 = hn::BitCast(d4, hn::InterleaveLower(d2, x[0], x[1]));
    const auto low23 = hn::BitCast(d4, hn::InterleaveLower(d2, x[2], x[3]));
    const auto high01 = hn::BitCast(d4, hn::InterleaveUpper(d2, x[0], x[1]));
    const auto high23 = hn::BitCast(d4, hn::InterleaveUpper(d2, x[2], x[3]));
    rows[first] = hn::BitCast(d, hn::InterleaveLower(d4, low01, low23));
    rows[first + 1] = hn::BitCast(d, hn::InterleaveUpper(d4, low01, low23));
    rows[first + 2] = hn::BitCast(d, hn::InterleaveLower(d4, high01, high23));
    rows[first + 3] = hn::BitCast(d, hn::InterleaveUpper(d4, high01, high23));
  };
  turn(low2, 0);
  turn(high2, 4);
}

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR

#endif  // toggled guard

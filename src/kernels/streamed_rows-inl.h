// Products of few rows by contiguous rows of b: some of these at a time run
// past the partial sums of a stretch of columns, which stay in the first
// caches; a partial sum is stored and loaded again, which changes no bit.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_STREAMED_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_STREAMED_ROWS_INL_H
#undef TOPOS_KERNELS_STREAMED_ROWS_INL_H
#else
#define TOPOS_KERNELS_STREAMED_ROWS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/few_rows.h"
#include "kernels/simd-inl.h"
#include "kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::ptrdiff_t;
using std::size_t;

#if TOPOS_VECTOR_FMA

// Elements of a that wait in registers while columns pass.
#if HWY_TARGET == HWY_AVX3
inline constexpr int held = 24;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int held = 10;
#elif HWY_NATIVE_FMA
inline constexpr int held = 20;
#else  // Emulated: the temporaries take the registers.
inline constexpr int held = 4;
#endif

// Rows of b that pass together: a power of two, so that they divide a block.
constexpr int depth_of(int rows) {
  int depth = 1;
  while (2 * depth * rows <= held && depth < 8) depth *= 2;
  return depth;
}

// Columns whose partial sums are held, at most; and elements of them in all
// rows, which half of the first cache has room for.
inline constexpr size_t stretch = 2048;
inline constexpr size_t held_bytes = 16 * 1024;

// A row of partial sums, in elements: the stores to one row must not look like
// the loads from another by the last twelve bits of their addresses.
template <class T>
inline constexpr size_t sums_row = stretch + 640 / sizeof(T);

template <class T, class S>
struct Stretch {
  const T* a;  // the first row's first element
  ptrdiff_t a_row;
  ptrdiff_t a_column;
  const S* b;  // the first column in the first row
  ptrdiff_t b_row;
  T* sums;
  size_t columns;
};

// sums += a b over `depth` of k, each sum one chain.
template <class T, class S, int rows, int depth>
HWY_NOINLINE void pass(const Stretch<T, S>& s) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  V left[rows][depth];
  TOPOS_UNROLL
  for (int r = 0; r < rows; ++r) {
    TOPOS_UNROLL
    for (int k = 0; k < depth; ++k) {
      left[r][k] = hn::Set(d, s.a[r * s.a_row + k * s.a_column]);
    }
  }
  const S* HWY_RESTRICT b = s.b;
  T* HWY_RESTRICT sums = s.sums;
  const ptrdiff_t b_row = s.b_row;
  size_t j = 0;
  for (; j + lanes <= s.columns; j += lanes) {
    V right[depth];
    TOPOS_UNROLL
    for (int k = 0; k < depth; ++k) {
      right[k] = load_wide(d, b + k * b_row + j);
      // What the next pass reads.
      __builtin_prefetch(b + (k + depth) * b_row + j, 0, 2);
    }
    TOPOS_UNROLL
    for (int r = 0; r < rows; ++r) {
      V sum = hn::LoadU(d, sums + static_cast<size_t>(r) * sums_row<T> + j);
      TOPOS_UNROLL
      for (int k = 0; k < depth; ++k) {
        sum = fused_multiply_add(d, left[r][k], right[k], sum);
      }
      hn::StoreU(sum, d, sums + static_cast<size_t>(r) * sums_row<T> + j);
    }
  }
  if (j == s.columns) return;
  const size_t count = s.columns - j;
  V right[depth];
  TOPOS_UNROLL
  for (int k = 0; k < depth; ++k) {
    right[k] = load_wide_first(d, b + k * b_row + j, count);
  }
  TOPOS_UNROLL
  for (int r = 0; r < rows; ++r) {
    T* const to = sums + static_cast<size_t>(r) * sums_row<T> + j;
    V sum = load_first(d, to, count);
    TOPOS_UNROLL
    for (int k = 0; k < depth; ++k) {
      sum = fused_multiply_add(d, left[r][k], right[k], sum);
    }
    store_first(d, sum, to, count);
  }
}

// `k` of k, as many together as registers allow.
template <class T, class S, int rows>
void pass_all(Stretch<T, S> s, size_t k) {
  constexpr int depth = depth_of(rows);
  for (; k >= depth; k -= depth) {
    pass<T, S, rows, depth>(s);
    s.a += depth * s.a_column;
    s.b += depth * s.b_row;
  }
  for (; k > 0; --k) {
    pass<T, S, rows, 1>(s);
    s.a += s.a_column;
    s.b += s.b_row;
  }
}

template <class T, class S>
void pass_rows(size_t rows, const Stretch<T, S>& s, size_t k) {
  static_assert(streamed_rows == 4);
  switch (rows) {
    case 1:
      return pass_all<T, S, 1>(s, k);
    case 2:
      return pass_all<T, S, 2>(s, k);
    case 3:
      return pass_all<T, S, 3>(s, k);
    case 4:
      return pass_all<T, S, 4>(s, k);
    default:
      break;
  }
}

// c = sums, or c += sums.
template <class T>
void add_to(T* HWY_RESTRICT c, const T* HWY_RESTRICT sums, size_t n, bool add) {
  if (!add) {
    std::copy(sums, sums + n, c);
    return;
  }
  const hn::ScalableTag<T> d;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, c + j), hn::LoadU(d, sums + j)), d, c + j);
  }
  for (; j < n; ++j) c[j] += sums[j];
}

template <class T, class S>
void multiply_rows_of_b(const T* a, MatrixStrides a_strides, const S* b,
                        ptrdiff_t b_row, T* c, ptrdiff_t c_row,
                        MatmulShape shape, T* scratch) {
  static_assert(streamed_rows * sums_row<T> * sizeof(T) <=
                matmul_scratch_bytes);
  const size_t rows = std::max<size_t>(shape.m, 1);
  const size_t wanted = held_bytes / sizeof(T) / rows / 64 * 64;
  const size_t piece = std::clamp<size_t>(wanted, 128, stretch);
  for (size_t first = 0; first < shape.n; first += piece) {
    const size_t columns = std::min(piece, shape.n - first);
    for (size_t k = 0; k < shape.k; k += ops::matmul_block) {
      for (size_t r = 0; r < shape.m; ++r) {
        T* sums = scratch + r * sums_row<T>;
        std::fill(sums, sums + columns, T{0});
      }
      pass_rows<T, S>(
          shape.m,
          {a + static_cast<ptrdiff_t>(k) * a_strides.column, a_strides.row,
           a_strides.column, b + static_cast<ptrdiff_t>(k) * b_row + first,
           b_row, scratch, columns},
          std::min(ops::matmul_block, shape.k - k));
      for (size_t r = 0; r < shape.m; ++r) {
        add_to(c + static_cast<ptrdiff_t>(r) * c_row + first,
               scratch + r * sums_row<T>, columns, k > 0);
      }
    }
  }
}

#endif  // TOPOS_VECTOR_FMA

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

// Products of few rows, compiled once per instruction set.
//
// b is read once, in a few long streams. If its rows are contiguous, some at a
// time run past the partial sums of a stretch of columns, which stay in the
// first caches; if its columns are, a vector's worth of them is turned into
// rows in registers. Lanes are columns, and each repeats the scalar loop of the
// reference; a partial sum is stored and loaded again, which changes no bit.

#include "kernels/few_rows.h"

#include <algorithm>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/simd-inl.h"
#include "kernels/transpose-inl.h"

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

inline constexpr int max_rows = held / 4 > 1 ? std::min(held / 4, 6) : 1;

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

template <class T>
struct Stretch {
  const T* a;  // the first row's first element
  ptrdiff_t a_row;
  ptrdiff_t a_column;
  const T* b;  // the first column in the first row
  ptrdiff_t b_row;
  T* sums;
  size_t columns;
};

// sums += a b over `depth` of k, each sum one chain.
template <class T, int rows, int depth>
HWY_NOINLINE void pass(const Stretch<T>& s) {
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
  const T* HWY_RESTRICT b = s.b;
  T* HWY_RESTRICT sums = s.sums;
  const ptrdiff_t b_row = s.b_row;
  size_t j = 0;
  for (; j + lanes <= s.columns; j += lanes) {
    V right[depth];
    TOPOS_UNROLL
    for (int k = 0; k < depth; ++k) {
      right[k] = hn::LoadU(d, b + k * b_row + j);
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
  for (int r = 0; r < rows; ++r) {
    V sum =
        load_first(d, sums + static_cast<size_t>(r) * sums_row<T> + j, count);
    for (int k = 0; k < depth; ++k) {
      sum = fused_multiply_add(d, left[r][k],
                               load_first(d, b + k * b_row + j, count), sum);
    }
    store_first(d, sum, sums + static_cast<size_t>(r) * sums_row<T> + j, count);
  }
}

// `k` of k, as many together as registers allow.
template <class T, int rows>
void pass_all(Stretch<T> s, size_t k) {
  constexpr int depth = depth_of(rows);
  for (; k >= depth; k -= depth) {
    pass<T, rows, depth>(s);
    s.a += depth * s.a_column;
    s.b += depth * s.b_row;
  }
  for (; k > 0; --k) {
    pass<T, rows, 1>(s);
    s.a += s.a_column;
    s.b += s.b_row;
  }
}

template <class T>
void pass_rows(size_t rows, const Stretch<T>& s, size_t k) {
  switch (rows) {
#define TOPOS_ROWS(count)                                             \
  case count:                                                         \
    if constexpr (count <= max_rows) return pass_all<T, count>(s, k); \
    break;
    TOPOS_ROWS(1)
    TOPOS_ROWS(2)
    TOPOS_ROWS(3)
    TOPOS_ROWS(4)
    TOPOS_ROWS(5)
    TOPOS_ROWS(6)
#undef TOPOS_ROWS
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

// One block of k: all rows pass a part of it while that is in the caches.
template <class T>
void multiply_block(size_t m, Stretch<T> s, size_t k) {
  constexpr size_t together = 8;
  const size_t groups = (m + max_rows - 1) / max_rows;
  if (groups == 1) return pass_rows(m, s, k);
  while (k > 0) {
    const size_t some = std::min(k, together);
    for (size_t group = 0, row = 0; group < groups; ++group) {
      const size_t rows = (m - row) / (groups - group);
      const auto i = static_cast<ptrdiff_t>(row);
      Stretch<T> part = s;
      part.a += i * s.a_row;
      part.sums += row * sums_row<T>;
      pass_rows(rows, part, some);
      row += rows;
    }
    k -= some;
    s.a += static_cast<ptrdiff_t>(some) * s.a_column;
    s.b += static_cast<ptrdiff_t>(some) * s.b_row;
  }
}

template <class T>
void multiply_rows_of_b(const T* a, MatrixStrides a_strides, const T* b,
                        ptrdiff_t b_row, T* c, ptrdiff_t c_row,
                        MatmulShape shape, T* scratch) {
  static_assert(few_rows * sums_row<T> * sizeof(T) <= matmul_scratch_bytes);
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
      multiply_block<T>(
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

// A vector's worth of columns, contiguous each, in one block of k.
template <class T>
struct Columns {
  const T* a;
  ptrdiff_t a_row;
  ptrdiff_t a_column;
  const T* const* column;
  size_t depth;
  T* c;
  ptrdiff_t c_row;
  size_t count;  // of columns that exist
  bool add;      // to c, which holds the sum of the blocks before
};

template <class T, int rows>
HWY_NOINLINE void multiply_columns(const Columns<T>& s) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  V sum[rows];
  TOPOS_UNROLL
  for (int r = 0; r < rows; ++r) sum[r] = hn::Zero(d);
  const T* a = s.a;
  size_t k = 0;
  for (; k + block<T> <= s.depth; k += block<T>) {
    V right[block<T>];
    rows_of_columns(d, s.column, k, right);
    TOPOS_UNROLL
    for (size_t i = 0; i < block<T>; ++i) {
      TOPOS_UNROLL
      for (int r = 0; r < rows; ++r) {
        sum[r] =
            fused_multiply_add(d, hn::Set(d, a[r * s.a_row]), right[i], sum[r]);
      }
      a += s.a_column;
    }
  }
  for (; k < s.depth; ++k, a += s.a_column) {
    HWY_ALIGN T lane[lanes];
    for (size_t i = 0; i < lanes; ++i) lane[i] = s.column[i][k];
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

// Rows that share a turned column, a sum in a register each.
inline constexpr size_t columns_rows = HWY_TARGET == HWY_AVX3 ? 16 : 8;

template <class T>
void multiply_columns(size_t rows, const Columns<T>& s) {
  switch (rows) {
#define TOPOS_ROWS(count)                   \
  case count:                               \
    if constexpr (count <= columns_rows) {  \
      return multiply_columns<T, count>(s); \
    }                                       \
    break;
    TOPOS_ROWS(1)
    TOPOS_ROWS(2)
    TOPOS_ROWS(3)
    TOPOS_ROWS(4)
    TOPOS_ROWS(5)
    TOPOS_ROWS(6)
    TOPOS_ROWS(7)
    TOPOS_ROWS(8)
    TOPOS_ROWS(9)
    TOPOS_ROWS(10)
    TOPOS_ROWS(11)
    TOPOS_ROWS(12)
    TOPOS_ROWS(13)
    TOPOS_ROWS(14)
    TOPOS_ROWS(15)
    TOPOS_ROWS(16)
#undef TOPOS_ROWS
    default:
      break;
  }
}

template <class T>
void multiply_columns_of_b(const T* a, MatrixStrides a_strides, const T* b,
                           ptrdiff_t b_column, T* c, ptrdiff_t c_row,
                           MatmulShape shape) {
  constexpr size_t lanes = hn::MaxLanes(hn::ScalableTag<T>());
  static constexpr T zeros[ops::matmul_block] = {};
  const size_t groups = (shape.m + columns_rows - 1) / columns_rows;
  for (size_t j = 0; j < shape.n; j += lanes) {
    for (size_t k = 0; k < shape.k; k += ops::matmul_block) {
      const T* column[lanes];
      for (size_t i = 0; i < lanes; ++i) {
        column[i] = j + i < shape.n
                        ? b + static_cast<ptrdiff_t>(j + i) * b_column + k
                        : zeros;
      }
      for (size_t group = 0, row = 0; group < groups; ++group) {
        const size_t rows = (shape.m - row) / (groups - group);
        const auto i = static_cast<ptrdiff_t>(row);
        multiply_columns<T>(
            rows, {a + i * a_strides.row +
                       static_cast<ptrdiff_t>(k) * a_strides.column,
                   a_strides.row, a_strides.column, column,
                   std::min(ops::matmul_block, shape.k - k), c + i * c_row + j,
                   c_row, std::min(lanes, shape.n - j), k > 0});
        row += rows;
      }
    }
  }
}

template <class T>
void multiply(const T* a, MatrixStrides a_strides, const T* b,
              MatrixStrides b_strides, T* c, ptrdiff_t c_row, MatmulShape shape,
              T* scratch) {
  if (b_strides.column == 1) {
    multiply_rows_of_b(a, a_strides, b, b_strides.row, c, c_row, shape,
                       scratch);
  } else {
    multiply_columns_of_b(a, a_strides, b, b_strides.column, c, c_row, shape);
  }
}

#endif  // TOPOS_VECTOR_FMA

// Not templates: HWY_EXPORT wants plain functions.
void few_rows_f32(const float* a, MatrixStrides a_strides, const float* b,
                  MatrixStrides b_strides, float* c, ptrdiff_t c_row,
                  MatmulShape shape, void* scratch) {
#if TOPOS_VECTOR_FMA
  multiply(a, a_strides, b, b_strides, c, c_row, shape,
           static_cast<float*>(scratch));
#else
  static_cast<void>(scratch);
  ops::matmul_reference(a, a_strides, b, b_strides, c, {c_row, 1}, shape.m,
                        shape.n, shape.k);
#endif
}

void few_rows_f64(const double* a, MatrixStrides a_strides, const double* b,
                  MatrixStrides b_strides, double* c, ptrdiff_t c_row,
                  MatmulShape shape, void* scratch) {
#if HWY_NATIVE_FMA
  multiply(a, a_strides, b, b_strides, c, c_row, shape,
           static_cast<double*>(scratch));
#else
  static_cast<void>(scratch);
  ops::matmul_reference(a, a_strides, b, b_strides, c, {c_row, 1}, shape.m,
                        shape.n, shape.k);
#endif
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(few_rows_f32);
HWY_EXPORT(few_rows_f64);

namespace {

// No terms: +0 everywhere.
template <class T>
void clear(T* c, std::ptrdiff_t c_row, MatmulShape shape) {
  for (std::size_t row = 0; row < shape.m; ++row) {
    T* to = c + static_cast<std::ptrdiff_t>(row) * c_row;
    std::fill(to, to + shape.n, T{0});
  }
}

}  // namespace

void multiply_few_rows(const float* a, MatrixStrides a_strides, const float* b,
                       MatrixStrides b_strides, float* c, std::ptrdiff_t c_row,
                       MatmulShape shape, void* scratch) {
  if (shape.k == 0) return clear(c, c_row, shape);
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(few_rows_f32)
  (a, a_strides, b, b_strides, c, c_row, shape, scratch);
}

void multiply_few_rows(const double* a, MatrixStrides a_strides,
                       const double* b, MatrixStrides b_strides, double* c,
                       std::ptrdiff_t c_row, MatmulShape shape, void* scratch) {
  if (shape.k == 0) return clear(c, c_row, shape);
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(few_rows_f64)
  (a, a_strides, b, b_strides, c, c_row, shape, scratch);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

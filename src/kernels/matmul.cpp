// The product of packed operands, compiled once per instruction set.
//
// Vectors run across columns, never along k: each lane repeats the scalar loop
// of the reference, so neither the vector width nor the tile changes a bit. A
// block of 512 along k is finished in registers before it is added to the
// total in c.

#include "kernels/matmul.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul.cpp"
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

// A register tile: max_rows x strip_vectors accumulators, the strip's vectors
// of the right operand and one broadcast element of the left one must fit the
// register file (32, 16 and 32 registers). Few rows: their lines of the left
// operand then stay in the first cache wherever they lie, eight to a set.
#if HWY_TARGET == HWY_AVX3
inline constexpr int max_rows = 6;
inline constexpr int strip_vectors = 4;
#define TOPOS_TALL_TILES 1
#elif HWY_TARGET == HWY_AVX2
inline constexpr int max_rows = 6;
inline constexpr int strip_vectors = 2;
#elif HWY_NATIVE_FMA
inline constexpr int max_rows = 6;
inline constexpr int strip_vectors = 4;
#else  // Emulated: the temporaries take the registers.
inline constexpr int max_rows = 2;
inline constexpr int strip_vectors = 1;
#endif

// Tiles that are taller and narrower read a right operand that is not packed
// fewer times, where that needs fewer of them.
#ifdef TOPOS_TALL_TILES
inline constexpr int tall_rows = 8;
inline constexpr int tall_vectors = 3;
#undef TOPOS_TALL_TILES
#else
inline constexpr int tall_rows = max_rows;
inline constexpr int tall_vectors = strip_vectors;
#endif

// What one call of a tile computes: `rows` rows (a template argument) by
// `columns` columns, over one block of k.
template <class T>
struct Tile {
  const T* a;  // the first row's first element
  ptrdiff_t a_row;
  ptrdiff_t a_column;
  const T* b;  // the strip's first column in the block's first row
  ptrdiff_t b_row;
  T* c;
  ptrdiff_t c_row;
  size_t depth;    // at most 512
  size_t columns;  // at most `vectors` vectors' worth
  bool add;        // to c, which holds the sum of the blocks before
};

inline constexpr size_t line_bytes = 64;

// How far ahead a strip's rows are brought to the first cache. The loads would
// be in time by themselves on a core of one's own; with half of a core's
// buffers, which is what a second thread on it leaves, they are not.
inline constexpr ptrdiff_t rows_ahead = 8;

template <class T, int rows, int vectors>
HWY_NOINLINE void compute_tile(const Tile<T>& tile) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());

  V sum[rows][vectors];
  TOPOS_UNROLL
  for (int r = 0; r < rows; ++r) {
    TOPOS_UNROLL
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Zero(d);
  }

  constexpr size_t line = line_bytes / sizeof(T);
  T* HWY_RESTRICT c = tile.c;
  if (tile.add) {  // else nobody waits for them
    for (int r = 0; r < rows; ++r) {
      for (size_t j = 0; j < tile.columns; j += line) {
        __builtin_prefetch(c + r * tile.c_row + j, 1);
      }
    }
  }

  const T* HWY_RESTRICT a = tile.a;
  const T* HWY_RESTRICT b = tile.b;
  const ptrdiff_t a_row = tile.a_row;
  const ptrdiff_t a_column = tile.a_column;
  const ptrdiff_t b_row = tile.b_row;
  const ptrdiff_t near = rows_ahead * b_row;
  for (size_t k = tile.depth; k != 0; --k) {
    V right[vectors];
    TOPOS_UNROLL
    for (int v = 0; v < vectors; ++v) {
      right[v] = hn::LoadU(d, b + static_cast<size_t>(v) * lanes);
    }
    TOPOS_UNROLL
    for (int r = 0; r < rows; ++r) {
      const V left = hn::Set(d, a[r * a_row]);
      TOPOS_UNROLL
      for (int v = 0; v < vectors; ++v) {
        sum[r][v] = fused_multiply_add(d, left, right[v], sum[r][v]);
      }
    }
    TOPOS_UNROLL
    for (size_t j = 0; j < static_cast<size_t>(vectors) * lanes; j += line) {
      __builtin_prefetch(b + near + static_cast<ptrdiff_t>(j));
    }
    a += a_column;
    b += b_row;
  }

  TOPOS_UNROLL
  for (int r = 0; r < rows; ++r) {
    TOPOS_UNROLL
    for (int v = 0; v < vectors; ++v) {
      const size_t first = static_cast<size_t>(v) * lanes;
      if (first + lanes <= tile.columns) {
        V total = sum[r][v];
        if (tile.add) total = hn::Add(hn::LoadU(d, c + first), total);
        hn::StoreU(total, d, c + first);
      } else if (first < tile.columns) {
        const size_t count = tile.columns - first;
        V total = sum[r][v];
        if (tile.add) {
          total = hn::Add(load_first(d, c + first, count), total);
        }
        store_first(d, total, c + first, count);
      }
    }
    c += tile.c_row;
  }
}

template <class T, int vectors>
HWY_INLINE void compute_rows(size_t rows, const Tile<T>& tile) {
  constexpr int most = vectors <= tall_vectors ? tall_rows : max_rows;
  switch (rows) {
#define TOPOS_ROWS(count)                           \
  case count:                                       \
    if constexpr (count <= most) {                  \
      return compute_tile<T, count, vectors>(tile); \
    }                                               \
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
    default:
      break;
  }
}

// The last strip of a panel is as narrow as the columns that exist allow.
template <class T, int vectors>
HWY_INLINE void compute_strip(size_t rows, const Tile<T>& tile) {
  constexpr size_t lanes = hn::MaxLanes(hn::ScalableTag<T>());
  if constexpr (vectors > 1) {
    if (tile.columns <= (vectors - 1) * lanes) {
      return compute_strip<T, vectors - 1>(rows, tile);
    }
  }
  compute_rows<T, vectors>(rows, tile);
}

// One row tile by one panel.
template <class T>
HWY_INLINE void compute_panel(size_t rows, size_t columns, Tile<T> tile) {
  constexpr size_t lanes = hn::MaxLanes(hn::ScalableTag<T>());
  constexpr size_t strip = lanes * strip_vectors;
  for (size_t first = 0; first < columns; first += strip) {
    tile.columns = std::min(strip, columns - first);
    compute_strip<T, strip_vectors>(rows, tile);
    tile.b += strip;
    tile.c += strip;
  }
}

// A row of a copied tile, in elements: more than a power of two, so that rows
// do not share cache sets.
template <class T>
inline constexpr size_t copied_row = ops::matmul_block + 64 / sizeof(T);

// Copies rows x depth elements to rows of copied_row each.
template <class T>
void copy_left(const T* a, MatrixStrides strides, size_t rows, size_t depth,
               T* HWY_RESTRICT to) {
  for (size_t r = 0; r < rows; ++r, a += strides.row, to += copied_row<T>) {
    const T* from = a;
    for (size_t k = 0; k < depth; ++k, from += strides.column) to[k] = *from;
  }
}

// The same of contiguous columns, which are read some at a time along all rows.
template <class T>
void copy_columns(const T* a, ptrdiff_t a_column, size_t rows, size_t depth,
                  T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  constexpr size_t lanes = hn::MaxLanes(decltype(d)());
  size_t k = 0;
  for (; k + lanes <= depth; k += lanes) {
    const T* column[lanes];
    for (size_t i = 0; i < lanes; ++i) {
      column[i] = a + static_cast<ptrdiff_t>(k + i) * a_column;
    }
    size_t r = 0;
    for (; r + block<T> <= rows; r += block<T>) {
      hn::Vec<decltype(d)> along[block<T>];
      rows_of_columns(d, column, r, along);
      TOPOS_UNROLL
      for (size_t i = 0; i < block<T>; ++i) {
        hn::StoreU(along[i], d, to + (r + i) * copied_row<T> + k);
      }
    }
    for (; r < rows; ++r) {
      T* row = to + r * copied_row<T> + k;
      for (size_t i = 0; i < lanes; ++i) row[i] = column[i][r];
    }
  }
  for (; k < depth; ++k) {
    const T* column = a + static_cast<ptrdiff_t>(k) * a_column;
    for (size_t r = 0; r < rows; ++r) to[r * copied_row<T> + k] = column[r];
  }
}

// Contiguous rows are as good where they lie, and so is what the first cache
// holds, or one element for all k.
template <class T>
bool worth_copying(MatrixStrides strides, size_t depth) {
  constexpr size_t small = 24 * 1024 / sizeof(T);
  if (strides.column == 1 || strides.column == 0) return false;
  return strides.row != 1 ||
         depth * static_cast<size_t>(std::abs(strides.column)) > small;
}

// Rows that are multiplied by one panel after another: with 128 KB of a panel,
// their 384 KB of a block stay in the second cache.
template <class T>
inline constexpr size_t rows_per_chunk = 768 / sizeof(T);

// Panels that meet a tile of the left operand while it is in the first cache.
inline constexpr size_t panels_together = 2;

// One row tile by a few panels.
template <class T>
HWY_INLINE void compute_panels(size_t rows, Tile<T> tile,
                               const RightPanels<T>& right, size_t k,
                               MatmulShape shape, Range panels) {
  T* c = tile.c;
  for (size_t p = panels.begin; p < panels.end; ++p) {
    const size_t column = p * panel_columns<T>;
    tile.b = right.first + static_cast<ptrdiff_t>(p) * right.panel +
             static_cast<ptrdiff_t>(k) * right.row;
    tile.c = c + column;
    compute_panel(rows, std::min(shape.n - column, panel_columns<T>), tile);
  }
}

// Row tiles one after another by strips of a right operand that lies in rows.
template <class T>
HWY_INLINE void compute_tall(std::span<const size_t> heights, Tile<T>* tiles,
                             const T* b, size_t first, size_t last) {
  constexpr size_t strip = tall_vectors * hn::MaxLanes(hn::ScalableTag<T>());
  for (size_t column = first; column < last; column += strip) {
    for (size_t t = 0; t < heights.size(); ++t) {
      Tile<T> tile = tiles[t];
      tile.b = b + column;
      tile.c += column;
      tile.columns = std::min(strip, last - column);
      compute_strip<T, tall_vectors>(heights[t], tile);
    }
  }
}

template <class T>
void multiply(const T* a, MatrixStrides a_strides, RightPanels<T> right, T* c,
              ptrdiff_t c_row_stride, MatmulShape shape, Range rows,
              Range panels, bool add, T* scratch) {
  static_assert(rows_per_chunk<T> * copied_row<T> * sizeof(T) <=
                matmul_scratch_bytes);
  static_assert(rows_per_chunk<T> % max_rows == 0);
  constexpr size_t max_tiles = rows_per_chunk<T> / max_rows;
  for (size_t k = 0; k < shape.k; k += ops::matmul_block) {
    for (size_t first = rows.begin; first < rows.end;
         first += rows_per_chunk<T>) {
      const size_t last = std::min(rows.end, first + rows_per_chunk<T>);
      const size_t depth = std::min(ops::matmul_block, shape.k - k);
      const T* left = a + static_cast<ptrdiff_t>(first) * a_strides.row +
                      static_cast<ptrdiff_t>(k) * a_strides.column;
      MatrixStrides strides = a_strides;
      if (worth_copying<T>(a_strides, depth)) {
        if (a_strides.row == 1) {
          copy_columns(left, a_strides.column, last - first, depth, scratch);
        } else {
          copy_left(left, a_strides, last - first, depth, scratch);
        }
        left = scratch;
        strides = {static_cast<ptrdiff_t>(copied_row<T>), 1};
      }
      // Tiles of nearly equal height waste less than full ones and a rest.
      size_t tiles = (last - first + max_rows - 1) / max_rows;
      const size_t tall_tiles = (last - first + tall_rows - 1) / tall_rows;
      const bool is_tall =
          tall_tiles < tiles && right.panel == ptrdiff_t{panel_columns<T>};
      if (is_tall) tiles = tall_tiles;
      Tile<T> tile[max_tiles];
      size_t height[max_tiles];
      for (size_t t = 0, row = 0; t < tiles; row += height[t++]) {
        height[t] = (last - first - row) / (tiles - t);
        tile[t].a = left + static_cast<ptrdiff_t>(row) * strides.row;
        tile[t].a_row = strides.row;
        tile[t].a_column = strides.column;
        tile[t].c = c + static_cast<ptrdiff_t>(first + row) * c_row_stride;
        tile[t].c_row = c_row_stride;
        tile[t].depth = depth;
        tile[t].b_row = right.row;
        tile[t].add = add || k != 0;
      }
      if (is_tall) {
        compute_tall({height, tiles}, tile,
                     right.first + static_cast<ptrdiff_t>(k) * right.row,
                     panels.begin * panel_columns<T>,
                     std::min(panels.end * panel_columns<T>, shape.n));
        continue;
      }
      for (size_t p = panels.begin; p < panels.end; p += panels_together) {
        const Range group{p, std::min(panels.end, p + panels_together)};
        for (size_t t = 0; t < tiles; ++t) {
          compute_panels(height[t], tile[t], right, k, shape, group);
        }
      }
    }
  }
}

#endif  // TOPOS_VECTOR_FMA

// Without a fused multiply-add of vectors: the definition itself.
template <class T>
void multiply_by_definition(const T* a, MatrixStrides a_strides,
                            RightPanels<T> right, T* c, ptrdiff_t c_row_stride,
                            MatmulShape shape, Range rows, Range panels,
                            bool add) {
  constexpr size_t width = panel_columns<T>;
  for (size_t row = rows.begin; row < rows.end; ++row) {
    const auto i = static_cast<ptrdiff_t>(row);
    for (size_t p = panels.begin; p < panels.end; ++p) {
      const size_t columns = std::min(shape.n - p * width, width);
      for (size_t j = 0; j < columns; ++j) {
        T& element =
            c[i * c_row_stride + static_cast<ptrdiff_t>(p * width + j)];
        const T sum = ops::dot_reference(
            a + i * a_strides.row, a_strides.column,
            right.first + static_cast<ptrdiff_t>(p) * right.panel + j,
            right.row, shape.k);
        element = add ? element + sum : sum;
      }
    }
  }
}

// Not templates: HWY_EXPORT wants plain functions.
void multiply_f32(const float* a, MatrixStrides a_strides,
                  RightPanels<float> right, float* c, ptrdiff_t c_row_stride,
                  MatmulShape shape, Range rows, Range panels, bool add,
                  void* scratch) {
#if TOPOS_VECTOR_FMA
  multiply(a, a_strides, right, c, c_row_stride, shape, rows, panels, add,
           static_cast<float*>(scratch));
#else
  static_cast<void>(scratch);
  multiply_by_definition(a, a_strides, right, c, c_row_stride, shape, rows,
                         panels, add);
#endif
}

void multiply_f64(const double* a, MatrixStrides a_strides,
                  RightPanels<double> right, double* c, ptrdiff_t c_row_stride,
                  MatmulShape shape, Range rows, Range panels, bool add,
                  void* scratch) {
#if HWY_NATIVE_FMA
  multiply(a, a_strides, right, c, c_row_stride, shape, rows, panels, add,
           static_cast<double*>(scratch));
#else
  static_cast<void>(scratch);
  multiply_by_definition(a, a_strides, right, c, c_row_stride, shape, rows,
                         panels, add);
#endif
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_f64);

namespace {

void run(const float* a, MatrixStrides a_strides, RightPanels<float> right,
         float* c, std::ptrdiff_t c_row, MatmulShape shape, Range rows,
         Range panels, bool add, void* scratch) {
  HWY_DYNAMIC_DISPATCH(multiply_f32)
  (a, a_strides, right, c, c_row, shape, rows, panels, add, scratch);
}

void run(const double* a, MatrixStrides a_strides, RightPanels<double> right,
         double* c, std::ptrdiff_t c_row, MatmulShape shape, Range rows,
         Range panels, bool add, void* scratch) {
  HWY_DYNAMIC_DISPATCH(multiply_f64)
  (a, a_strides, right, c, c_row, shape, rows, panels, add, scratch);
}

// No terms: +0 everywhere.
template <class T>
void clear(T* c, std::ptrdiff_t c_row, std::size_t n, Range rows,
           Range panels) {
  const std::size_t first = panels.begin * panel_columns<T>;
  const std::size_t last = std::min(n, panels.end * panel_columns<T>);
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    T* to = c + static_cast<std::ptrdiff_t>(row) * c_row;
    std::fill(to + first, to + last, T{0});
  }
}

}  // namespace

template <std::floating_point T>
void matmul_packed(const T* a, MatrixStrides a_strides, const T* packed, T* c,
                   std::ptrdiff_t c_row, MatmulShape shape, Range rows,
                   Range panels, void* scratch, bool add) {
  if (rows.begin >= rows.end || panels.begin >= panels.end) return;
  if (shape.k == 0) return clear(c, c_row, shape.n, rows, panels);
  apply_target_cap();
  constexpr auto width = static_cast<std::ptrdiff_t>(panel_columns<T>);
  run(a, a_strides,
      {packed, width * static_cast<std::ptrdiff_t>(shape.k), width}, c, c_row,
      shape, rows, panels, add, scratch);
}

template <std::floating_point T>
void matmul_in_place(const T* a, MatrixStrides a_strides, const T* b,
                     std::ptrdiff_t b_row, T* c, std::ptrdiff_t c_row,
                     MatmulShape shape, void* scratch) {
  constexpr std::size_t width = panel_columns<T>;
  const Range rows{0, shape.m};
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0)
    return clear(c, c_row, shape.n, rows, all_panels<T>(shape.n));
  apply_target_cap();
  const std::size_t whole = shape.n / width;
  if (whole > 0) {
    run(a, a_strides, {b, static_cast<std::ptrdiff_t>(width), b_row}, c, c_row,
        shape, rows, {0, whole}, false, scratch);
  }
  const std::size_t rest = shape.n - whole * width;
  if (rest == 0) return;
  // Vectors would read past its columns: a block of it is packed at a time.
  T* const block = static_cast<T*>(scratch) +
                   in_place_rows * (ops::matmul_block + 64 / sizeof(T));
  for (std::size_t k = 0; k < shape.k; k += ops::matmul_block) {
    const std::size_t depth = std::min(ops::matmul_block, shape.k - k);
    pack_right(block,
               b + static_cast<std::ptrdiff_t>(k) * b_row +
                   static_cast<std::ptrdiff_t>(whole * width),
               {b_row, 1}, depth, rest, {0, 1});
    run(a + static_cast<std::ptrdiff_t>(k) * a_strides.column, a_strides,
        {block, 0, static_cast<std::ptrdiff_t>(width)}, c + whole * width,
        c_row, {shape.m, rest, depth}, rows, {0, 1}, k > 0, scratch);
  }
}

#define TOPOS_INSTANTIATE(T)                                             \
  template void matmul_packed(const T*, MatrixStrides, const T*, T*,     \
                              std::ptrdiff_t, MatmulShape, Range, Range, \
                              void*, bool);                              \
  template void matmul_in_place(const T*, MatrixStrides, const T*,       \
                                std::ptrdiff_t, T*, std::ptrdiff_t,      \
                                MatmulShape, void*)
TOPOS_INSTANTIATE(float);
TOPOS_INSTANTIATE(double);
#undef TOPOS_INSTANTIATE

}  // namespace topos::kernels

#endif  // HWY_ONCE

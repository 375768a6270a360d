// Matrix products with exactly the bits of ops/matmul_reference.h, on every
// target and however the work is divided.
//
// The right operand is packed once into panels of 256 bytes' worth of columns;
// then any rectangle of the result (a range of rows by a range of panels) can
// be computed on its own, by any thread, in any order:
//
//   pack_right(packed, b, b_strides, k, n, all_panels<float>(n));
//   matmul_packed(a, a_strides, packed, c, c_row_stride, {m, n, k},
//                 {0, m}, all_panels<float>(n), scratch);
//
// A packed operand is the same on every target. Nothing here allocates or
// throws.

#pragma once

#include <concepts>
#include <cstddef>

#include "ops/matmul_reference.h"
#include "topos/half.h"

namespace topos::kernels {

/// [m, k] x [k, n].
struct MatmulShape {
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

/// Element (i, j) lies at i * row + j * column; any sign, zero included, so a
/// transposed, reversed or broadcast view needs no copy.
using ops::MatrixStrides;

/// begin <= i < end.
struct Range {
  std::size_t begin;
  std::size_t end;
};

/// The columns of a panel: 64 of f32, 32 of f64.
template <std::floating_point T>
inline constexpr std::size_t panel_columns = 256 / sizeof(T);

/// How many panels hold n columns; the last one is padded.
template <std::floating_point T>
constexpr std::size_t panel_count(std::size_t n) {
  return n / panel_columns<T> + (n % panel_columns<T> != 0);
}

template <std::floating_point T>
constexpr Range all_panels(std::size_t n) {
  return {0, panel_count<T>(n)};
}

/// The bytes of a packed right operand [k, n]. Panel p is the k * panel_columns
/// elements from p * k * panel_columns on, row-major. Aligning the buffer to 64
/// bytes is worth a few percent and not required.
template <std::floating_point T>
constexpr std::size_t packed_right_bytes(std::size_t k, std::size_t n) {
  return panel_count<T>(n) * panel_columns<T> * k * sizeof(T);
}

/// Packs the panels in `panels` of b [k, n]; threads may take one range each.
/// The last panel's padding becomes +0. 16-bit types are widened.
void pack_right(float* packed, const float* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels);
void pack_right(float* packed, const BFloat16* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels);
void pack_right(float* packed, const Float16* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels);
void pack_right(double* packed, const double* b, MatrixStrides b_strides,
                std::size_t k, std::size_t n, Range panels);

/// The bytes of scratch that one call of matmul_packed may use, whatever the
/// shape; align it to 64 bytes for speed. Each thread brings its own.
inline constexpr std::size_t matmul_scratch_bytes = 544 * 1024;

/// Panels of a right operand, packed or where they lie: how far a panel is from
/// the one before, and a row of one.
template <std::floating_point T>
struct RightPanels {
  const T* first;
  std::ptrdiff_t panel;
  std::ptrdiff_t row;
};

/// The elements of c [m, n] in `rows` and in the columns of `panels`; nothing
/// else of c is read or written. c is row-major with a row stride in elements
/// and overlaps no operand. For f32 and f64.
///
/// \param add  to what c holds: the sum of the blocks of k before these
template <std::floating_point T>
void matmul_packed(const T* a, MatrixStrides a_strides, const T* packed, T* c,
                   std::ptrdiff_t c_row, MatmulShape shape, Range rows,
                   Range panels, void* scratch, bool add = false);

/// The most rows of a product that is worth reading b where it lies; and where
/// its rows lie multiples of 4 KB apart, which share a few sets of the caches.
inline constexpr std::size_t in_place_rows = 96;
inline constexpr std::size_t in_place_rows_of_pages = 24;

/// The whole of c [m, n], m <= in_place_rows, without packing b, whose rows are
/// contiguous. For f32 and f64.
template <std::floating_point T>
void matmul_in_place(const T* a, MatrixStrides a_strides, const T* b,
                     std::ptrdiff_t b_row, T* c, std::ptrdiff_t c_row,
                     MatmulShape shape, void* scratch);

}  // namespace topos::kernels

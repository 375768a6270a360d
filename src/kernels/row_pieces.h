// How rows are taken together.

#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/sum.h"
#include "ops/sum_reference.h"

namespace topos::kernels {

/// Elements of a piece, a block of the sum; and rows of one at most.
inline constexpr std::size_t piece = ops::sum_block;
inline constexpr std::size_t piece_rows = 256;

/// How many rows make a piece, if one has no more elements than that.
inline std::size_t rows_together(std::size_t rows, std::size_t columns) {
  return std::min(
      {rows, piece_rows, piece / std::max<std::size_t>(columns, 1)});
}

template <class T>
void sums_of(const T* x, std::size_t rows, std::size_t columns, double* sums) {
  sum_rows(x, static_cast<std::ptrdiff_t>(columns), rows, columns, sums);
}

}  // namespace topos::kernels

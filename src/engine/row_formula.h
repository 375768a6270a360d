#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/catalog.h"

/// \file
/// The operations that work on whole rows of trailing axes, and their kernels.

namespace topos::engines {

/// What a formula makes of a row.
enum class RowResult : std::uint8_t { none, element, row };

/// The list of row formulas: a new one is a line here and a kernel in
/// row_kernels.cpp.
template <class Op>
inline constexpr RowResult row_result = RowResult::none;
// clang-format off
template <> inline constexpr RowResult row_result<ops::Sum> = RowResult::element;
template <> inline constexpr RowResult row_result<ops::Mean> = RowResult::element;
template <> inline constexpr RowResult row_result<ops::ReduceMax> = RowResult::element;
template <> inline constexpr RowResult row_result<ops::ReduceMin> = RowResult::element;
template <> inline constexpr RowResult row_result<ops::ArgMax> = RowResult::element;
template <> inline constexpr RowResult row_result<ops::LogSumExp> = RowResult::element;
template <> inline constexpr RowResult row_result<ops::Center> = RowResult::row;
template <> inline constexpr RowResult row_result<ops::Softmax> = RowResult::row;
template <> inline constexpr RowResult row_result<ops::LogSoftmax> = RowResult::row;
// clang-format on

template <class Op>
concept RowFormula = row_result<Op>
!= RowResult::none;

/// Whether the formula gives a row for a row, not an element.
template <RowFormula Op>
inline constexpr bool keeps_row = row_result<Op> == RowResult::row;

/// The axes that a formula works over.
template <RowFormula Op>
Axes formula_axes(const Op& op) {
  if constexpr (requires { op.axes; }) {
    return op.axes;
  } else {
    return op.axis;
  }
}

/// A formula over rows: x has `columns` elements a row; y as many, or one.
using RowFunction = void (*)(const std::byte* x, std::byte* y, std::size_t rows,
                             std::size_t columns);

/// The kernel of a row formula of elements of that dtype; null if there is
/// none.
RowFunction row_function(const ops::Any& op, DType dtype);

}  // namespace topos::engines

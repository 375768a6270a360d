#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "topos/shape.h"
#include "topos/tensor.h"

namespace topos {

/// Where the elements of a tensor lie: element (i0, i1, ...) at
/// `offset + i0 strides[0] + i1 strides[1] + ...`, in elements. Every view of a
/// tensor is arithmetic on its layout; axes are normalized by the caller.
struct Layout {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;

  bool operator==(const Layout&) const = default;

  static Layout row_major(const Shape& shape) {
    return {shape, row_major_strides(shape), 0};
  }

  /// Row-major without gaps, from `offset` on. Axes of extent 1 do not count.
  bool is_contiguous() const;

  /// The same positions in the same order with as few axes as express them.
  Layout collapsed() const;
  /// The same elements in row-major order, if strides can express it.
  std::optional<Layout> reshaped(const Shape& shape) const;
  Layout permuted(const Axes& axes) const;
  Layout narrowed(int axis, std::int64_t start, std::int64_t count) const;
  Layout broadcasted(const Shape& shape, const Axes& axes) const;
  Layout reversed(const Axes& axes) const;
};

/// Where the elements of a tensor lie from its first one on.
inline Layout layout_of(const Tensor& x) { return {x.shape(), x.strides(), 0}; }

/// Calls `f(position)` for each element in row-major order, with its position
/// as `layout` says.
template <class F>
void for_each_position(const Layout& layout, F&& f) {
  const int rank = layout.shape.rank();
  for (std::int64_t extent : layout.shape) {
    if (extent == 0) return;
  }
  if (rank == 0) {
    f(layout.offset);
    return;
  }
  std::array<std::int64_t, max_rank> index = {};
  std::int64_t row = layout.offset;
  const std::int64_t inner = layout.shape[-1];
  const std::int64_t inner_stride = layout.strides[-1];
  for (;;) {
    for (std::int64_t i = 0; i < inner; ++i) f(row + i * inner_stride);
    int axis = rank - 2;
    for (; axis >= 0; --axis) {
      row += layout.strides[axis];
      if (++index[static_cast<std::size_t>(axis)] < layout.shape[axis]) break;
      row -= layout.strides[axis] * layout.shape[axis];
      index[static_cast<std::size_t>(axis)] = 0;
    }
    if (axis < 0) return;
  }
}

/// `shape` with its one -1 inferred from the element count of `from`.
/// \throws ShapeError  it cannot be, or the counts differ
Shape infer_extents(const Shape& from, Shape shape);

/// The offset of row-major index `flat` in a layout.
std::int64_t position_of(const Layout& layout, std::int64_t flat);

/// Copies the elements of `source` to `to`, row-major without gaps.
void gather_elements(const std::byte* base, const Layout& source,
                     std::size_t element_bytes, std::byte* to);

}  // namespace topos

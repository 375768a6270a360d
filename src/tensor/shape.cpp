#include "topos/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "topos/error.h"

namespace topos {

namespace detail {
void too_many_axes(std::size_t count) {
  throw ShapeError(
      fmt::format("{} axes, but a tensor has at most {}", count, max_rank));
}
}  // namespace detail

std::string Axes::text() const {
  return fmt::format("[{}]", fmt::join(begin(), end(), ", "));
}

std::int64_t Shape::element_count() const {
  // Zero extents are left out of the overflow check first and decide last:
  // [2^40, 2^40, 0] is refused although it holds nothing, because every view
  // of it would have to repeat the check.
  std::int64_t product = 1;
  bool none = false;
  for (std::int64_t extent : *this) {
    if (extent < 0) {
      throw ShapeError(
          fmt::format("the shape {} has a negative extent", text()));
    }
    if (extent == 0) {
      none = true;
    } else if (__builtin_mul_overflow(product, extent, &product)) {
      throw ShapeError(
          fmt::format("the element count of the shape {} overflows", text()));
    }
  }
  return none ? 0 : product;
}

Shape Shape::leading(int axis) const {
  const int end_axis = axis < 0 ? axis + rank() : axis;
  return Shape(std::span(begin(), static_cast<std::size_t>(end_axis)));
}

Shape Shape::with(int axis, std::int64_t extent) const {
  Shape result = *this;
  result[axis] = extent;
  return result;
}

Shape Shape::without(const Axes& axes) const {
  Shape result;
  for (int axis = 0; axis < rank(); ++axis) {
    if (!axes.contains(static_cast<std::int8_t>(axis))) {
      result.push_back((*this)[axis]);
    }
  }
  return result;
}

std::string Shape::text() const {
  return fmt::format("[{}]", fmt::join(begin(), end(), ", "));
}

int normalize_axis(int axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw ShapeError(
        fmt::format("the axis {} is not in a tensor of rank {}", axis, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Axes normalize_axes(const Axes& axes, int rank) {
  std::array<bool, max_rank> named = {};
  for (int axis : axes) {
    const auto at = static_cast<std::size_t>(normalize_axis(axis, rank));
    if (named[at]) {
      throw ShapeError(
          fmt::format("the axis {} is named twice in {}", at, axes.text()));
    }
    named[at] = true;
  }
  Axes result;
  for (int axis = 0; axis < rank; ++axis) {
    if (axes.empty() || named[static_cast<std::size_t>(axis)]) {
      result.push_back(static_cast<std::int8_t>(axis));
    }
  }
  return result;
}

Shape broadcast_shapes(const Shape& left, const Shape& right) {
  const int rank = std::max(left.rank(), right.rank());
  Shape result;
  for (int axis = -rank; axis < 0; ++axis) {
    const std::int64_t a = axis < -left.rank() ? 1 : left[axis];
    const std::int64_t b = axis < -right.rank() ? 1 : right[axis];
    if (a != b && a != 1 && b != 1) {
      throw ShapeError(fmt::format(
          "the shapes {} and {} do not broadcast: the extents {} and {} of "
          "axis {} differ and neither is 1",
          left.text(), right.text(), a, b, axis));
    }
    result.push_back(a == 1 ? b : a);
  }
  return result;
}

std::size_t Type::size_bytes() const {
  const std::int64_t count = shape.element_count();
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(
          count, static_cast<std::int64_t>(topos::size_bytes(dtype)), &bytes)) {
    throw ShapeError(fmt::format("the size of {} in bytes overflows", text()));
  }
  return static_cast<std::size_t>(bytes);
}

std::string Type::text() const {
  return fmt::format("{}{}", name(dtype), shape.text());
}

}  // namespace topos

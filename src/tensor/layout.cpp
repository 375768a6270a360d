#include "tensor/layout.h"

#include <fmt/format.h>

#include <cstring>

#include "topos/error.h"

namespace topos {

Strides row_major_strides(const Shape& shape) {
  shape.element_count();  // refuses what the products below would overflow by
  Strides strides;
  for (int axis = 0; axis < shape.rank(); ++axis) strides.push_back(0);
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

bool Layout::is_contiguous() const {
  std::int64_t step = 1;
  bool gaps = false;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && strides[axis] != step) gaps = true;
    step *= shape[axis];
  }
  return !gaps;
}

Layout Layout::collapsed() const {
  Layout result{{}, {}, offset};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    if (!result.shape.empty() &&
        result.strides[-1] == strides[axis] * shape[axis]) {
      result.shape[-1] *= shape[axis];
      result.strides[-1] = strides[axis];
    } else {
      result.shape.push_back(shape[axis]);
      result.strides.push_back(strides[axis]);
    }
  }
  return result;
}

std::optional<Layout> Layout::reshaped(const Shape& to) const {
  Layout result{to, row_major_strides(to), offset};
  if (shape.element_count() == 0 || is_contiguous()) return result;

  // Old axes are merged into runs over which one stride counts; each run must
  // be tiled exactly by new axes.
  const Layout runs = collapsed();
  int run = runs.shape.rank() - 1;
  std::int64_t left = run >= 0 ? runs.shape[run] : 1;
  std::int64_t step = run >= 0 ? runs.strides[run] : 1;
  for (int axis = to.rank() - 1; axis >= 0; --axis) {
    if (to[axis] == 1) continue;
    if (left == 1) {
      --run;
      left = runs.shape[run];
      step = runs.strides[run];
    }
    if (left % to[axis] != 0) return std::nullopt;
    result.strides[axis] = step;
    step *= to[axis];
    left /= to[axis];
  }
  return result;
}

Layout Layout::permuted(const Axes& axes) const {
  Layout result{{}, {}, offset};
  for (int axis : axes) {
    result.shape.push_back(shape[axis]);
    result.strides.push_back(strides[axis]);
  }
  return result;
}

Layout Layout::narrowed(int axis, std::int64_t start,
                        std::int64_t count) const {
  Layout result = *this;
  result.shape[axis] = count;
  result.offset += start * strides[axis];
  return result;
}

Layout Layout::broadcasted(const Shape& to, const Axes& axes) const {
  Layout result{to, {}, offset};
  for (int axis = 0; axis < to.rank(); ++axis) result.strides.push_back(0);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == to[axes[axis]]) {
      result.strides[axes[axis]] = strides[axis];
    }
  }
  return result;
}

Layout Layout::reversed(const Axes& axes) const {
  Layout result = *this;
  for (int axis : axes) {
    if (shape[axis] > 0) result.offset += (shape[axis] - 1) * strides[axis];
    result.strides[axis] = -strides[axis];
  }
  return result;
}

Shape infer_extents(const Shape& from, Shape shape) {
  const std::int64_t count = from.element_count();
  int unknown = -1;
  std::int64_t known = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1 && unknown < 0) {
      unknown = axis;
    } else if (shape[axis] < 0) {
      throw ShapeError(
          fmt::format("the shape {} has a negative extent, or more than one -1",
                      shape.text()));
    }
  }
  if (unknown >= 0) {
    known = shape.with(unknown, 1).element_count();
    if (known == 0 || count % known != 0) {
      throw ShapeError(fmt::format(
          "the extent -1 of {} cannot be inferred from {} ({} elements)",
          shape.text(), from.text(), count));
    }
    shape[unknown] = count / known;
  }
  if (shape.element_count() != count) {
    throw ShapeError(fmt::format("{} has {} elements, but {} has {}",
                                 from.text(), count, shape.text(),
                                 shape.element_count()));
  }
  return shape;
}

std::int64_t position_of(const Layout& layout, std::int64_t flat) {
  std::int64_t position = layout.offset;
  for (int axis = layout.shape.rank() - 1; axis >= 0; --axis) {
    position += flat % layout.shape[axis] * layout.strides[axis];
    flat /= layout.shape[axis];
  }
  return position;
}

namespace {
template <class T>
void gather_as(const std::byte* base, const Layout& source, std::byte* to) {
  const T* from = reinterpret_cast<const T*>(base);
  T* next = reinterpret_cast<T*>(to);
  for_each_position(source, [&](std::int64_t at) { *next++ = from[at]; });
}
}  // namespace

void gather_elements(const std::byte* base, const Layout& source,
                     std::size_t element_bytes, std::byte* to) {
  const std::int64_t count = source.shape.element_count();
  if (count == 0) return;
  if (source.is_contiguous()) {
    const auto start = source.offset * static_cast<std::int64_t>(element_bytes);
    std::memcpy(to, base + start,
                static_cast<std::size_t>(count) * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1:
      return gather_as<std::uint8_t>(base, source, to);
    case 2:
      return gather_as<std::uint16_t>(base, source, to);
    case 4:
      return gather_as<std::uint32_t>(base, source, to);
    case 8:
      return gather_as<std::uint64_t>(base, source, to);
    default:
      throw InternalError("an element of no known size");
  }
}

}  // namespace topos

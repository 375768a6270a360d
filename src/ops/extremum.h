#pragma once

#include "ops/operation.h"
#include "tensor/visit.h"

namespace topos::ops {

/// \throws ShapeError  one of the reduced axes is empty
inline void expect_elements(const Shape& shape, const Axes& axes) {
  for (int axis : axes) {
    if (shape[axis] == 0) {
      throw ShapeError(
          fmt::format("axis {} of {} is empty", axis, shape.text()));
    }
  }
}

/// y = Pick::value over the reduced axes, from the first element on.
template <class Pick>
void reduce_with(const Tensor& x, const Axes& axes, Output y) {
  const Split at = split(layout_of(x), axes);
  visit_dtype(y.type.dtype, [&]<class T>() {
    if constexpr (Arithmetic<T>) {
      const T* from = elements_of<T>(x);
      T* out = y.as<T>();
      for_each_position(at.kept, [&](std::int64_t base) {
        T best = from[base];
        for_each_position(at.reduced, [&](std::int64_t i) {
          best = Pick::value(best, from[base + i]);
        });
        *out++ = best;
      });
    }
  });
}

/// The cotangent of x where y is its extremum over `axes`: dy divided equally
/// among the elements that equal it.
template <Differentiable V>
V share_among_ties(const V& x, const V& y, const V& dy, const Axes& axes) {
  const Type type = x.type();
  const Axes kept = other_axes(axes, type.shape.rank());
  const V tied = equal(x, broadcast(y, type.shape, kept));
  if (axes.empty()) return select(tied, dy, 0.0);
  const V whole = widened(dy);
  const V ties = sum(cast(tied, whole.type().dtype), axes);
  const V share = rounded(whole / ties, type.dtype);
  return select(tied, broadcast(share, type.shape, kept), 0.0);
}

}  // namespace topos::ops

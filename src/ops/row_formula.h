#pragma once

#include <limits>

#include "math/elementary.h"
#include "ops/maximum.h"
#include "ops/operation.h"
#include "ops/sum_reference.h"

namespace topos::ops {

/// What softmax, logsumexp and log_softmax share: the maximum m of a row (0
/// where it is -inf, so that a row of nothing but -inf does not become NaN)
/// and s, the sum of e^(x - m) in the order of every sum, rounded to T.
template <class T>
struct ShiftedSum {
  T maximum;
  T sum;
};

template <Real T>
ShiftedSum<T> shifted_sum(const T* x, const Layout& row) {
  T maximum = -std::numeric_limits<T>::infinity();
  for_each_position(
      row, [&](std::int64_t i) { maximum = Maximum::value(maximum, x[i]); });
  if (maximum == -std::numeric_limits<T>::infinity()) maximum = 0;
  SumAccumulator sum;
  for_each_position(row, [&](std::int64_t i) {
    sum.add(static_cast<double>(math::exp(x[i] - maximum)));
  });
  return {maximum, static_cast<T>(sum.total())};
}

/// The same in StableHLO, for all rows along an axis.
struct LoweredRow {
  stablehlo::Value maximum;  // without the axis, as is the sum
  stablehlo::Value shifted;
  stablehlo::Value exponential;
  stablehlo::Value sum;
  Shape shape;
  Axes axis;

  LoweredRow(stablehlo::Writer& out, const stablehlo::Value& x, int along)
      : shape(x.type.shape), axis(along) {
    const stablehlo::Value m =
        out.reduce(stablehlo::Reduction::maximum, x, axis);
    const stablehlo::Value dead = out.compare(
        "EQ", m, out.full_like(m, -std::numeric_limits<double>::infinity()));
    maximum = out.select(dead, out.full_like(m, 0), m);
    shifted = out.subtract(x, broadcast(out, maximum));
    exponential = out.elementwise("exponential", {shifted});
    sum = out.reduce(stablehlo::Reduction::add, exponential, axis);
  }

  stablehlo::Value broadcast(stablehlo::Writer& out,
                             const stablehlo::Value& reduced) const {
    return out.broadcast_back(reduced, shape, axis);
  }
};

/// Calls `f(x, y, row, out_row)` for each row of x along `axis`: pointers to
/// its elements and to those of y, and their layouts.
template <class T, class F>
void for_each_row(const Tensor& x, Output y, std::int8_t axis, F&& f) {
  const Split at = split(layout_of(x), {axis});
  const Split to = split(Layout::row_major(y.type.shape), {axis});
  std::int64_t row = 0;
  for_each_position(at.kept, [&](std::int64_t base) {
    f(elements_of<T>(x) + base, y.as<T>() + position_of(to.kept, row++),
      at.reduced, to.reduced);
  });
}

}  // namespace topos::ops

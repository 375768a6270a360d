#pragma once

#include <array>

#include "ops/extremum.h"
#include "ops/minimum.h"
#include "ops/operation.h"

namespace topos::ops {

/// The least element over axes, which it drops: minimum along the
/// reduced axes, so NaN propagates and -0 < +0.
///
///   C1          not boolean
///   C2          the axes exist, and none of them is empty
///   derivative  an equal share to each tie
struct ReduceMin {
  Axes axes;

  static constexpr std::string_view name = "reduce_min";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &ReduceMin::axes});
  }
  bool operator==(const ReduceMin&) const = default;

  static ReduceMin make(Operands<Type> x, const Axes& axes) {
    return {normalize_axes(axes, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    arithmetic(x[0]);                      // C1
    expect_axes(axes, x[0].shape.rank());  // C2
    expect_elements(x[0].shape, axes);     // C2
    return {x[0].dtype, x[0].shape.without(axes)};
  }

  void value(Operands<Tensor> x, Output y) const {
    reduce_with<Minimum>(x[0], axes, y);
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V& y, const V& dy) const {
    return {share_among_ties(x[0], y, dy, axes)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.reduce(stablehlo::Reduction::minimum, x[0], axes);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<ReduceMin>>({
        {"all", {{0, 1}}, "f32[2, 2]{1 7 -3 4}", "f32[]{-3}"},
        {"rows", {{1}}, "f32[2, 2]{1 7 3 -4}", "f32[2]{1 -4}"},
        {"outer axes", {{0, 2}}, "f32[2, 2, 1]{1 2 3 -6}", "f32[2]{1 -6}"},
        {"zeros", {{0}}, "f32[2]{0 -0}", "f32[]{-0}", "f32[2]{0.5 0.5}"},
        {"ties", {{0}}, "f32[3]{-0.6 -0.6 0.3}", "f32[]{-0.6}", "f32[3]{0.5 0.5 0}"},
        {"NaN", {{0}}, "f32[2]{1 nan}", "f32[]{nan}", "f32[2]{0 0}"},
        {"integers", {{0}}, "i64[3]{-5 3 2}", "i64[]{-5}", "-"},
        {"no rows", {{1}}, "f32[0, 2]{}", "f32[0]{}"},
        {"C1 boolean", {{0}}, "boolean[2]", "boolean has no arithmetic"},
        {"C2 axis", {{1}}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
        {"C2 nothing", {{0}}, "f32[0, 2]", "axis 0 of [0, 2] is empty"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

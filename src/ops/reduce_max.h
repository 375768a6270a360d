#pragma once

#include <array>

#include "ops/extremum.h"
#include "ops/maximum.h"
#include "ops/operation.h"

namespace topos::ops {

/// The greatest element over axes, which it drops: maximum along the
/// reduced axes, so NaN propagates and -0 < +0.
///
///   C1          not boolean
///   C2          the axes exist, and none of them is empty
///   derivative  an equal share to each tie
struct ReduceMax {
  Axes axes;

  static constexpr std::string_view name = "reduce_max";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &ReduceMax::axes});
  }
  bool operator==(const ReduceMax&) const = default;

  static ReduceMax make(Operands<Type> x, const Axes& axes) {
    return {normalize_axes(axes, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    arithmetic(x[0]);                      // C1
    expect_axes(axes, x[0].shape.rank());  // C2
    expect_elements(x[0].shape, axes);     // C2
    return {x[0].dtype, x[0].shape.without(axes)};
  }

  void value(Operands<Tensor> x, Output y) const {
    reduce_with<Maximum>(x[0], axes, y);
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V& y, const V& dy) const {
    return {share_among_ties(x[0], y, dy, axes)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.reduce(stablehlo::Reduction::maximum, x[0], axes);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<ReduceMax>>({
        {"all", {{0, 1}}, "f32[2, 2]{1 7 3 4}", "f32[]{7}"},
        {"bf16", {{0}}, "bf16[3]{1 3 -2}", "bf16[]{3}", "bf16[3]{0 1 0}"},
        {"rows", {{1}}, "f32[2, 2]{1 7 3 -4}", "f32[2]{7 3}"},
        {"outer axes", {{0, 2}}, "f32[2, 2, 1]{1 2 3 -6}", "f32[2]{3 2}"},
        {"zeros", {{0}}, "f32[2]{-0 0}", "f32[]{0}", "f32[2]{0.5 0.5}"},
        {"ties", {{0}}, "f32[3]{0.6 0.6 0.3}", "f32[]{0.6}", "f32[3]{0.5 0.5 0}"},
        {"-inf", {{0}}, "f32[2]{-inf -inf}", "f32[]{-inf}", "f32[2]{0.5 0.5}"},
        {"NaN", {{0}}, "f32[2]{nan 1}", "f32[]{nan}", "f32[2]{0 0}"},
        {"integers", {{0}}, "i32[3]{-5 3 2}", "i32[]{3}", "-"},
        {"no axis", {{}}, "f32[2]{-0 1}", "f32[2]{-0 1}", "f32[2]{1 1}"},
        {"no rows", {{1}}, "f32[0, 2]{}", "f32[0]{}"},
        {"C1 boolean", {{0}}, "boolean[2]", "boolean has no arithmetic"},
        {"C2 axis", {{1}}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
        {"C2 nothing", {{0}}, "f32[0, 2]", "axis 0 of [0, 2] is empty"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

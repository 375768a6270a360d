#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// The order of the elements along axes reversed.
///
///   C1          the axes exist, each named once
///   derivative  dx = reverse(dy)
struct Reverse {
  Axes axes;

  static constexpr std::string_view name = "reverse";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &Reverse::axes});
  }
  bool operator==(const Reverse&) const = default;

  static Reverse make(Operands<Type> x, const Axes& axes) {
    // None means none here: there is no "reverse everything" to shorten.
    return {axes.empty() ? axes : normalize_axes(axes, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    expect_axes(axes, x[0].shape.rank());  // C1
    return x[0];
  }

  template <class X>
  View<X> view(const X& x) const {
    return x.reversed(axes);
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V>, const V&, const V& dy) const {
    return {reverse(dy, axes)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.reverse(x[0], axes);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Reverse>>({
        {"vector", {{0}}, "f32[3]{1 2 3}", "f32[3]{3 2 1}"},
        {"columns", {{1}}, "f32[2, 2]{1 2 3 4}", "f32[2, 2]{2 1 4 3}"},
        {"both", {{0, 1}}, "f32[2, 2]{1 2 3 4}", "f32[2, 2]{4 3 2 1}"},
        {"no axis", {{}}, "f32[2]{1 2}", "f32[2]{1 2}"},
        {"empty", {{0}}, "f32[0]{}", "f32[0]{}"},
        {"integers", {{0}}, "i32[2]{1 2}", "i32[2]{2 1}", "-"},
        {"C1 axis", {{1}}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
        {"C1 twice", {{0, 0}}, "f32[2]", "the axis 0 is named twice in [0, 0]"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

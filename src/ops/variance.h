#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// mean(c c) over axes, c = center(x): the population variance.
///
///   C1  floating
///   C2  the axes exist
struct Variance {
  Axes axes;
  bool keep = false;

  static constexpr std::string_view name = "variance";
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &Variance::axes},
                           std::pair{"keep", &Variance::keep});
  }

  void check(Operands<Type> x) const {
    floating(x[0]);                           // C1
    normalize_axes(axes, x[0].shape.rank());  // C2
  }

  template <Differentiable V>
  V formula(Operands<V> x) const {
    const V c = center(x[0], axes);
    return mean(c * c, axes, keep);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Variance>>({
        {"plain", {{0}}, "f32[4]{1 3 5 7}", "f32[]{5}"},
        {"all", {}, "f32[2, 2]{1 3 5 7}", "f32[]{5}"},
        {"kept", {{1}, true}, "f64[2, 2]{1 3 5 9}", "f64[2, 1]{1 4}"},
        {"from the end", {{-1}}, "f64[2, 2]{1 3 5 9}", "f64[2]{1 4}"},
        {"shifted", {{0}}, "f32[4]{40000 40001 40002 40003}", "f32[]{1.25}"},
        {"nothing", {{0}}, "f32[0]{}", "f32[]{nan}"},
        {"C1 integers", {{0}}, "i32[2]", "i32 is not floating"},
        {"C2 axis", {{1}}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

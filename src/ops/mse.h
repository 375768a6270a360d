#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// mean(d d), d = x - y.
///
///   C1  the dtypes are equal and floating
///   C2  the shapes are equal: a loss never broadcasts
struct Mse {
  static constexpr std::string_view name = "mse";
  static constexpr std::tuple<> fields() { return {}; }

  static void check(Operands<Type> x) {
    floating(x[0]);                   // C1
    expect_equal_dtypes(x[0], x[1]);  // C1
    if (x[0].shape != x[1].shape) {   // C2
      throw ShapeError(
          fmt::format("the shapes {} and {} differ: a loss does not broadcast",
                      x[0].shape.text(), x[1].shape.text()));
    }
  }

  template <Differentiable V>
  V formula(Operands<V> x) const {
    const V d = x[0] - x[1];
    return mean(d * d);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Mse>>({
        {"plain", {}, "f32[2]{1 2} f32[2]{3 5}", "f32[]{6.5}"},
        {"nothing", {}, "f32[0]{} f32[0]{}", "f32[]{nan}"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C1 integers", {}, "i32[2] i32[2]", "i32 is not floating"},
        {"C2 column", {}, "f32[3, 1] f32[3]", "the shapes [3, 1] and [3] differ: a loss does not broadcast"},
        {"C2 ranks", {}, "f32[2, 1] f32[2, 1, 1, 1]", "the shapes [2, 1] and [2, 1, 1, 1] differ: a loss does not broadcast"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

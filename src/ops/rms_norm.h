#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// (x rsqrt(mean(x x) + epsilon)) scale along the last axis [Zhang & Sennrich
/// 2019]; 16-bit types in f32.
///
///   C1  x is floating and has an axis
///   C2  the scale has x's dtype and its last extent
struct RmsNorm {
  double epsilon = 1e-5;

  static constexpr std::string_view name = "rms_norm";
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"epsilon", &RmsNorm::epsilon});
  }

  static void check(Operands<Type> x) {
    floating(x[0]);                             // C1
    normalize_axis(-1, x[0].shape.rank());      // C1
    expect_equal_dtypes(x[0], x[1]);            // C2
    if (x[1].shape != Shape{x[0].shape[-1]}) {  // C2
      throw ShapeError(fmt::format("the scale is {}, but the last extent is {}",
                                   x[1].shape.text(), x[0].shape[-1]));
    }
  }

  template <Differentiable V>
  V formula(Operands<V> x) const {
    const V wide = widened(x[0]);
    const V square = mean(wide * wide, -1, true);
    const V y = (wide * rsqrt(square + epsilon)) * widened(x[1]);
    return rounded(y, x[0].type().dtype);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<RmsNorm>>({
        {"zeros", {}, "f32[2]{0 -0} f32[2]{1 1}", "f32[2]{0 -0}"},
        {"f16", {}, "f16[4]{1 3 -2 0.5} f16[4]{1 2 1 1}", "f16[4]{0x1.0f4p-1 0x1.97p+1 -0x1.0f4p+0 0x1.0f4p-2}"},
        {"plain", {0}, "f64[2]{3 3} f64[2]{2 -1}", "f64[2]{2 -1}"},
        {"rows", {}, "f64[2, 2]{1 -2 0.5 4} f64[2]{1 3}", "f64[2, 2]{0.6324542671264065 -3.7947256027584393 0.1754114959159031 4.2098759019816745}"},
        {"no rows", {}, "f32[0, 1]{} f32[1]{1}", "f32[0, 1]{}"},
        {"C1 scalar", {}, "f32[] f32[1]", "the axis -1 is not in a tensor of rank 0"},
        {"C1 integers", {}, "i32[1] i32[1]", "i32 is not floating"},
        {"C2 scale", {}, "f32[2, 3] f32[2]", "the scale is [2], but the last extent is 3"},
        {"C2 dtype", {}, "f32[2, 3] f64[3]", "the dtypes f32 and f64 differ: cast one"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

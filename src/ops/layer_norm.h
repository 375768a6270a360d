#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// ((c rsqrt(v + epsilon)) scale) + shift along the last axis, c = center(x),
/// v = mean(c c) [Ba et al. 2016]; 16-bit types in f32.
///
///   C1  x is floating and has an axis
///   C2  scale and shift have x's dtype and its last extent
struct LayerNorm {
  double epsilon = 1e-5;

  static constexpr std::string_view name = "layer_norm";
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"epsilon", &LayerNorm::epsilon});
  }

  static void check(Operands<Type> x) {
    floating(x[0]);                         // C1
    normalize_axis(-1, x[0].shape.rank());  // C1
    for (int i : {1, 2}) {
      const Type& other = x[static_cast<std::size_t>(i)];
      expect_equal_dtypes(x[0], other);            // C2
      if (other.shape != Shape{x[0].shape[-1]}) {  // C2
        throw ShapeError(fmt::format("the {} is {}, but the last extent is {}",
                                     i == 1 ? "scale" : "shift",
                                     other.shape.text(), x[0].shape[-1]));
      }
    }
  }

  template <Differentiable V>
  V formula(Operands<V> x) const {
    const V c = center(widened(x[0]), -1);
    const V v = mean(c * c, -1, true);
    const V y = (c * rsqrt(v + epsilon)) * widened(x[1]) + widened(x[2]);
    return rounded(y, x[0].type().dtype);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<LayerNorm>>({
        {"constant", {}, "f32[2]{1234 1234} f32[2]{1 1} f32[2]{0 0}", "f32[2]{0 0}"},
        {"bf16", {}, "bf16[4]{1 3 -2 0.5} bf16[4]{1 2 1 1} bf16[4]{0 0 0 1}", "bf16[4]{0x1.bp-3 0x1.56p+1 -0x1.7ap+0 0x1.dcp-1}"},
        {"plain", {0}, "f64[2]{1 3} f64[2]{2 1} f64[2]{0 5}", "f64[2]{-2 6}"},
        {"rows", {0}, "f64[2, 2]{1 3 7 5} f64[2]{1 1} f64[2]{0 0}", "f64[2, 2]{-1 1 1 -1}"},
        {"large mean", {}, "f64[4]{40000 40001 40002 40003} f64[4]{1 1 1 1} f64[4]{0 0 0 0}", "f64[4]{-1.3416354199689269 -0.447211806656309 0.447211806656309 1.3416354199689269}"},
        {"no rows", {}, "f32[0, 1]{} f32[1]{1} f32[1]{0}", "f32[0, 1]{}"},
        {"C1 scalar", {}, "f32[] f32[1] f32[1]", "the axis -1 is not in a tensor of rank 0"},
        {"C1 integers", {}, "i32[1] i32[1] i32[1]", "i32 is not floating"},
        {"C2 scale", {}, "f32[2, 3] f32[2] f32[3]", "the scale is [2], but the last extent is 3"},
        {"C2 shift", {}, "f32[2, 3] f32[3] f32[1]", "the shift is [1], but the last extent is 3"},
        {"C2 dtype", {}, "f32[2, 3] f64[3] f32[3]", "the dtypes f32 and f64 differ: cast one"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// The cosine of x radians, element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64
///   derivative  dx = -mp(dy, sin x)
struct Cos {
  static constexpr std::string_view name = "cos";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Cos&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::cos(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {-masked_product(dy, sin(x[0]))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("cosine", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Cos>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{1 1}"},
        {"bf16", {}, "bf16[3]{0x1p-1 -2 3}", "bf16[3]{0x1.c2p-1 -0x1.aap-2 -0x1.fap-1}"},
        {"f16", {}, "f16[3]{0x1p-1 -2 3}", "f16[3]{0x1.c14p-1 -0x1.aa4p-2 -0x1.fbp-1}"},
        {"plain", {}, "f32[2]{2 1e10}", "f32[2]{-0x1.aa2266p-2 0x1.bf098ap-1}", "skip"},
        {"f64", {}, "f64[2]{1 -2}", "f64[2]{0.5403023058681398 -0.4161468365471424}"},
        {"many turns", {}, "f64[]{1e22}", "f64[]{0.523214785395139}", "f64[]{0.8522008497671888}"},
        {"ends", {}, "f32[2]{inf nan}", "f32[2]{nan nan}", "f32[2]{nan nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

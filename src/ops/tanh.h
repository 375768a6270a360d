#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// Hyperbolic tangent, element by element.
///
///   shape       that of x, any rank
///   value       tanh(x): correctly rounded in f32, within 1 ulp in f64. The
///               sign of 0 and NaN are kept
///   derivative  dx = dy (1 - y y)                             [DLMF 4.34]
struct Tanh {
  static constexpr std::string_view name = "tanh";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Tanh&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::tanh(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V& y, const V& dy) {
    return {dy * (1.0 - y * y)};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("tanh", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Tanh>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{0 -0}"},
        {"bf16", {}, "bf16[3]{0x1p-1 -2 0x1.48p-7}", "bf16[3]{0x1.dap-2 -0x1.eep-1 0x1.48p-7}"},
        {"f16", {}, "f16[3]{0x1p-1 -2 0x1.47cp-7}", "f16[3]{0x1.d94p-2 -0x1.ed8p-1 0x1.47cp-7}"},
        {"plain", {}, "f32[2]{0.3 -1.7}", "f32[2]{0x1.2a4ddcp-2 -0x1.deedf0p-1}"},
        {"f64", {}, "f64[2]{0.5 -2}", "f64[2]{0.46211715726000976 -0.9640275800758169}"},
        {"saturated", {}, "f32[3]{20 inf -inf}", "f32[3]{1 1 -1}", "f32[3]{0 0 0}"},
        {"NaN", {}, "f32[]{nan}", "f32[]{nan}", "f32[]{nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// The sine of x radians, element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64
///   derivative  dx = mp(dy, cos x)
struct Sin {
  static constexpr std::string_view name = "sin";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Sin&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::sin(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {masked_product(dy, cos(x[0]))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("sine", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Sin>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{0 -0}"},
        {"bf16", {}, "bf16[3]{0x1p-1 -2 3}", "bf16[3]{0x1.eap-2 -0x1.d2p-1 0x1.22p-3}"},
        {"f16", {}, "f16[3]{0x1p-1 -2 3}", "f16[3]{0x1.ebp-2 -0x1.d18p-1 0x1.21p-3}"},
        {"plain", {}, "f32[2]{2 1e10}", "f32[2]{0x1.d18f6ep-1 -0x1.f334c8p-2}", "skip"},
        {"f64", {}, "f64[2]{1 2}", "f64[2]{0.8414709848078965 0.9092974268256817}"},
        {"many turns", {}, "f64[]{1e22}", "f64[]{-0.8522008497671888}", "f64[]{0.523214785395139}"},
        {"ends", {}, "f32[2]{inf nan}", "f32[2]{nan nan}", "f32[2]{nan nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

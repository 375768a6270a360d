#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// e^x - 1, element by element, without cancellation near 0.
///
///   value       correctly rounded in f32, within 1 ulp in f64; keeps -0
///   derivative  dx = mp(dy, y + 1)
struct Expm1 {
  static constexpr std::string_view name = "expm1";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Expm1&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::expm1(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V& y, const V& dy) {
    return {masked_product(dy, y + 1.0)};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("exponential_minus_one", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Expm1>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{0 -0}", "f32[2]{1 1}"},
        {"bf16", {}, "bf16[3]{0x1.48p-7 -0x1.a6p+1 0x1.66p-1}", "bf16[3]{0x1.4ap-7 -0x1.eep-1 0x1.04p+0}"},
        {"f16", {}, "f16[3]{0x1.47cp-7 -0x1.a68p+1 0x1.668p-1}", "f16[3]{0x1.498p-7 -0x1.ed4p-1 0x1.038p+0}"},
        {"plain", {}, "f32[2]{0.7 -3.3}", "f32[2]{0x1.03854cp+0 -0x1.ed1da6p-1}"},
        {"small", {}, "f32[2]{1e-20 -0x1p-149}", "f32[2]{1e-20 -0x1p-149}"},
        {"f64", {}, "f64[3]{1 -3.3 1e-10}", "f64[3]{1.7182818284590453 -0.96311683259876 1.00000000005e-10}"},
        {"ends", {}, "f32[4]{inf -inf 89 nan}", "f32[4]{inf -1 inf nan}", "f32[4]{inf 0 inf nan}"},
        {"integers", {}, "i64[2]", "i64 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

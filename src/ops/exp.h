#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// e^x, element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64
///   derivative  dx = mp(dy, y): an overflow to inf under a zero cotangent
///               leaves no NaN
struct Exp {
  static constexpr std::string_view name = "exp";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Exp&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::exp(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V& y, const V& dy) {
    return {masked_product(dy, y)};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("exponential", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Exp>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{1 1}"},
        {"bf16", {}, "bf16[3]{1 -0x1.a6p+1 0x1.66p-1}", "bf16[3]{0x1.5cp+1 0x1.3p-5 0x1.02p+1}"},
        {"f16", {}, "f16[3]{1 -0x1.a68p+1 0x1.668p-1}", "f16[3]{0x1.5cp+1 0x1.2ep-5 0x1.01cp+1}"},
        {"plain", {}, "f32[2]{0.7 -3.3}", "f32[2]{0x1.01c2a6p+1 0x1.2e259cp-5}"},
        {"f64", {}, "f64[2]{1 -3.3}", "f64[2]{2.718281828459045 0.036883167401240015}"},
        {"ends", {}, "f32[5]{inf -inf 89 -104 nan}", "f32[5]{inf 0 inf 0 nan}", "f32[5]{inf 0 inf 0 nan}"},
        {"subnormal", {}, "f32[]{-100}", "f32[]{0x1.bp-145}", "f32[]{0x1.bp-145}"},
        {"integers", {}, "i64[2]", "i64 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

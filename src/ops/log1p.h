#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// ln(1 + x), element by element, without cancellation near 0.
///
///   value       correctly rounded in f32, within 1 ulp in f64; keeps -0; -inf
///               at -1, NaN below
///   derivative  dx = mp(dy, 1/(1 + x))
struct Log1p {
  static constexpr std::string_view name = "log1p";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Log1p&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::log1p(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {masked_product(dy, 1.0 / (1.0 + x[0]))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("log_plus_one", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Log1p>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{0 -0}", "f32[2]{1 1}"},
        {"bf16", {}, "bf16[3]{3 0x1.48p-7 10}", "bf16[3]{0x1.62p+0 0x1.46p-7 0x1.32p+1}"},
        {"f16", {}, "f16[3]{3 0x1.47cp-7 10}", "f16[3]{0x1.63p+0 0x1.46p-7 0x1.33p+1}"},
        {"plain", {}, "f32[2]{3 -0.7}", "f32[2]{0x1.62e43p+0 -0x1.34379p+0}"},
        {"small", {}, "f32[2]{1e-20 -0x1p-149}", "f32[2]{1e-20 -0x1p-149}"},
        {"f64", {}, "f64[3]{1 -0.5 1e-10}", "f64[3]{0.6931471805599453 -0.6931471805599453 9.999999999500001e-11}"},
        {"ends", {}, "f32[4]{inf -1 -2 nan}", "f32[4]{inf -inf nan nan}", "f32[4]{0 inf -1 nan}"},
        {"integers", {}, "i32[]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

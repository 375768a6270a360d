#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// The logistic function 1 / (1 + e^-x), element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64
///   derivative  dx = dy (y (1 - y))
struct Logistic {
  static constexpr std::string_view name = "logistic";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Logistic&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::logistic(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V& y, const V& dy) {
    return {dy * (y * (1.0 - y))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("logistic", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Logistic>>({
        {"zero", {}, "f32[2]{0 -0}", "f32[2]{0.5 0.5}"},
        {"bf16", {}, "bf16[3]{0x1p-1 -2 3}", "bf16[3]{0x1.3ep-1 0x1.e8p-4 0x1.e8p-1}"},
        {"f16", {}, "f16[3]{0x1p-1 -2 3}", "f16[3]{0x1.3ecp-1 0x1.e84p-4 0x1.e7cp-1}"},
        {"plain", {}, "f32[2]{-3 1.3}", "f32[2]{0x1.848344p-5 0x1.9258f6p-1}"},
        {"f64", {}, "f64[2]{1 -3}", "f64[2]{0.7310585786300049 0.04742587317756678}"},
        {"ends", {}, "f32[3]{inf -inf nan}", "f32[3]{1 0 nan}", "f32[3]{0 0 nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

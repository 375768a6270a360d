#pragma once

#include <array>
#include <cmath>

#include "ops/operation.h"

namespace topos::ops {

/// The square root, element by element.
///
///   value       IEEE 754 squareRoot; NaN below zero, -0 at -0
///   derivative  dx = mp(dy, 0.5/y)
struct Sqrt {
  static constexpr std::string_view name = "sqrt";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Sqrt&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return std::sqrt(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V& y, const V& dy) {
    return {masked_product(dy, 0.5 / y)};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("sqrt", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Sqrt>>({
        {"exact", {}, "f32[3]{4 -0 inf}", "f32[3]{2 -0 inf}", "f32[3]{0.25 -inf 0}"},
        {"bf16", {}, "bf16[3]{2 0x1.66p-1 10}", "bf16[3]{0x1.6ap+0 0x1.acp-1 0x1.94p+1}"},
        {"f16", {}, "f16[3]{2 0x1.668p-1 10}", "f16[3]{0x1.6ap+0 0x1.ac8p-1 0x1.94cp+1}"},
        {"f64", {}, "f64[2]{2 9}", "f64[2]{1.4142135623730951 3}"},
        {"negative", {}, "f32[2]{-1 nan}", "f32[2]{nan nan}", "f32[2]{nan nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

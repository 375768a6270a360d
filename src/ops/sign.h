#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// -1, 0 or 1, element by element; +-0 and NaN are kept.
///
///   derivative  zero
struct Sign {
  static constexpr std::string_view name = "sign";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Sign&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(x[0]); }

  template <Arithmetic T>
  static T value(T x) {
    if (x > 0) return 1;
    if (x < 0) return -1;
    return x;  // +-0 or NaN
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V&) {
    return Cotangents<V>(x.size());
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("sign", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Sign>>({
        {"plain", {}, "f32[7]{3 -2 0 -0 nan inf -0x1p-149}", "f32[7]{1 -1 0 -0 nan 1 -1}", "-"},
        {"integers", {}, "i64[3]{-7 0 9}", "i64[3]{-1 0 1}", "-"},
        {"boolean", {}, "boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

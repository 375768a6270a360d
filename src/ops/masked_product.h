#pragma once

#include <array>

#include "ops/mul.h"
#include "ops/operation.h"

namespace topos::ops {

/// a b, but +0 where a = 0 or b = 0, whatever the other one is.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          not boolean
///   derivative  itself: da = mp(dy, b), db = mp(dy, a). (Forms that guard one
///               operand only fail at the second or third derivative.)
struct MaskedProduct {
  static constexpr std::string_view name = "masked_product";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const MaskedProduct&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(same(x[0], x[1])); }

  template <Arithmetic T>
  static T value(T a, T b) {
    return a == 0 || b == 0 ? T(0) : Mul::value(a, b);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {masked_product(dy, x[1]), masked_product(dy, x[0])};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    const stablehlo::Value zero = out.full_like(x[0], 0);
    const stablehlo::Value masked = out.elementwise(
        "or", {out.compare("EQ", x[0], zero), out.compare("EQ", x[1], zero)});
    return out.select(masked, zero, out.multiply(x[0], x[1]));
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<MaskedProduct>>({
        {"plain", {}, "f32[2]{3 -5} f32[2]{2 2}", "f32[2]{6 -10}"},
        {"guards", {}, "f32[4]{0 inf -0 nan} f32[4]{inf -0 nan 0}", "f32[4]{0 0 0 0}", "f32[4]{inf 0 nan 0} f32[4]{0 inf 0 nan}"},
        {"signs", {}, "f32[2]{-3 0} f32[2]{0 -3}", "f32[2]{0 0}"},
        {"NaN", {}, "f32[2]{nan inf} f32[2]{1 nan}", "f32[2]{nan nan}", "f32[2]{1 nan} f32[2]{nan inf}"},
        {"integers", {}, "i32[2]{3 65536} i32[2]{-2 65536}", "i32[2]{-6 0}", "-"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C2 shapes", {}, "f32[2] f32[3]", "the shapes [2] and [3] differ"},
        {"C3 boolean", {}, "boolean[2] boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

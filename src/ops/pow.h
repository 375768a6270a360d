#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// a^b as IEEE 754-2019 `pow`: pow(a, 0) = 1 and pow(1, b) = 1 always.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          floating
///   value       correctly rounded in f32, within 1 ulp in f64
///   derivative  da = mp(dy, select(b = 0, 0, mp(b1, pow(a, b - 1)))), b1 = 1
///               where b = 0, else b: at a = 0 the slope of the polynomial;
///               db = mp(dy, mp(y, ln(select(a = 0, 1, a)))), so 0 at a = 0
struct Pow {
  static constexpr std::string_view name = "pow";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Pow&) const = default;

  static Type infer(Operands<Type> x) { return floating(same(x[0], x[1])); }

  template <Real T>
  static T value(T a, T b) {
    return math::pow(a, b);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V& y, const V& dy) {
    const V& base = x[0];
    const V& exponent = x[1];
    const V constant = equal(exponent, 0.0);
    const V slope = masked_product(select(constant, 1.0, exponent),
                                   pow(base, exponent - 1.0));
    const V log = ln(select(equal(base, 0.0), 1.0, base));
    return {masked_product(dy, select(constant, 0.0, slope)),
            masked_product(dy, masked_product(y, log))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("power", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Pow>>({
        {"exact", {}, "f32[3]{2 9 2} f32[3]{10 0.5 -1}", "f32[3]{1024 3 0.5}"},
        {"plain", {}, "f32[1]{1.7} f32[1]{2.3}", "f32[1]{0x1.b1c0c6p+1}"},
        {"f64", {}, "f64[1]{1.7} f64[1]{2.3}", "f64[1]{3.388695291147646}"},
        {"special", {}, "f32[4]{nan 1 0 -8} f32[4]{0 nan -1 0.5}", "f32[4]{1 1 inf nan}", "f32[4]{0 nan -inf nan} f32[4]{nan 0 0 nan}"},
        {"base 0", {}, "f64[6]{0 0 0 0 0 0} f64[6]{3 2 1 0.5 0 -1}", "f64[6]{0 0 0 0 1 inf}", "f64[6]{0 0 1 inf 0 -inf} f64[6]{0 0 0 0 0 0}"},
        {"negative base", {}, "f64[2]{-2 -2} f64[2]{3 2}", "f64[2]{-8 4}", "f64[2]{12 -4} f64[2]{nan nan}"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C2 shapes", {}, "f32[2] f32[3]", "the shapes [2] and [3] differ"},
        {"C3 integers", {}, "i32[2] i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

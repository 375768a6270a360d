#pragma once

#include <array>
#include <cmath>

#include "ops/operation.h"

namespace topos::ops {

/// The greater of a and b by IEEE 754-2019 `maximum`: NaN propagates, -0 < +0.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          not boolean
///   derivative  dy to the greater one, half each on a tie; none where
///               one is NaN
struct Maximum {
  static constexpr std::string_view name = "maximum";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Maximum&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(same(x[0], x[1])); }

  template <Arithmetic T>
  static T value(T a, T b) {
    if constexpr (Real<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      if (a == b) return std::signbit(a) ? b : a;  // -0 < +0
    }
    return a > b ? a : b;
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    const V tied = select(equal(x[0], x[1]), 0.5 * dy, 0.0);
    return {select(greater(x[0], x[1]), dy, tied),
            select(greater(x[1], x[0]), dy, tied)};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("maximum", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Maximum>>({
        {"plain", {}, "f32[2]{1 5} f32[2]{2 2}", "f32[2]{2 5}", "f32[2]{0 1} f32[2]{1 0}"},
        {"bf16", {}, "bf16[3]{1 -0 nan} bf16[3]{2 0 1}", "bf16[3]{2 0 nan}", "bf16[3]{0 0.5 0} bf16[3]{1 0.5 0}"},
        {"slopes", {}, "f64[2]{1 5} f64[2]{2 2}", "f64[2]{2 5}"},
        {"zeros", {}, "f32[2]{-0 0} f32[2]{0 -0}", "f32[2]{0 0}", "f32[2]{0.5 0.5} f32[2]{0.5 0.5}"},
        {"infinite", {}, "f32[2]{inf -inf} f32[2]{1 1}", "f32[2]{inf 1}", "f32[2]{1 0} f32[2]{0 1}"},
        {"NaN", {}, "f32[2]{nan 1} f32[2]{1 nan}", "f32[2]{nan nan}", "f32[2]{0 0} f32[2]{0 0}"},
        {"integers", {}, "i32[2]{1 -5} i32[2]{2 -7}", "i32[2]{2 -5}", "-"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C2 shapes", {}, "f32[2] f32[3]", "the shapes [2] and [3] differ"},
        {"C3 boolean", {}, "boolean[2] boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

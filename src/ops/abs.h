#pragma once

#include <array>
#include <cmath>

#include "ops/neg.h"
#include "ops/operation.h"

namespace topos::ops {

/// |x|, element by element; of an integer MIN, MIN.
///
///   derivative  dx = dy sign(x), so 0 at 0
struct Abs {
  static constexpr std::string_view name = "abs";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Abs&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(x[0]); }

  template <Arithmetic T>
  static T value(T x) {
    if constexpr (Integer<T>) {
      return x < 0 ? Neg::value(x) : x;
    } else {
      return std::fabs(x);
    }
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {dy * sign(x[0])};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("abs", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Abs>>({
        {"plain", {}, "f32[5]{1 -2 -0 -inf nan}", "f32[5]{1 2 0 inf nan}", "f32[5]{1 -1 -0 -1 nan}"},
        {"slopes", {}, "f64[2]{0.5 -3}", "f64[2]{0.5 3}"},
        {"MIN", {}, "i32[2]{-2147483648 -5}", "i32[2]{-2147483648 5}", "-"},
        {"boolean", {}, "boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

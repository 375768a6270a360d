#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/wrapping.h"

namespace topos::ops {

/// -x, element by element; of an integer MIN, MIN.
///
///   derivative  dx = -dy
struct Neg {
  static constexpr std::string_view name = "neg";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Neg&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(x[0]); }

  template <Arithmetic T>
  static T value(T x) {
    if constexpr (Integer<T>) {
      return wrapping<T>(0, x, [](auto a, auto b) { return a - b; });
    } else {
      return -x;
    }
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V&, const V& dy) {
    return {-dy};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("negate", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Neg>>({
        {"plain", {}, "f32[4]{1 0 -inf nan}", "f32[4]{-1 -0 inf nan}", "f32[4]{-1 -1 -1 -1}"},
        {"f16", {}, "f16[2]{0x1p-24 -0}", "f16[2]{-0x1p-24 0}"},
        {"slope", {}, "f64[]{3}", "f64[]{-3}"},
        {"MIN", {}, "i32[2]{-2147483648 5}", "i32[2]{-2147483648 -5}", "-"},
        {"boolean", {}, "boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

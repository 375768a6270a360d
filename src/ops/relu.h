#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// maximum(x, +0), element by element.
///
///   derivative  dy where x > 0; the slope at 0 is 0
struct Relu {
  static constexpr std::string_view name = "relu";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Relu&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(x[0]); }

  template <Arithmetic T>
  static T value(T x) {
    return x > 0 || x != x ? x : T(0);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {select(greater(x[0], 0.0), dy, 0.0)};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("maximum", {x[0], out.full_like(x[0], 0)});
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Relu>>({
        {"plain", {}, "f32[6]{2 -3 0 -0 nan inf}", "f32[6]{2 0 0 0 nan inf}", "f32[6]{1 0 0 0 0 1}"},
        {"slopes", {}, "f64[2]{2 -3}", "f64[2]{2 0}"},
        {"integers", {}, "i32[2]{4 -4}", "i32[2]{4 0}", "-"},
        {"boolean", {}, "boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

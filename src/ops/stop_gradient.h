#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// x, through which no gradient flows.
///
///   derivative  zero
struct StopGradient {
  static constexpr std::string_view name = "stop_gradient";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const StopGradient&) const = default;

  static Type infer(Operands<Type> x) { return x[0]; }

  template <class X>
  static View<X> view(const X& x) {
    return x;
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V&) {
    return Cotangents<V>(x.size());
  }

  static stablehlo::Value lower(stablehlo::Writer&, const stablehlo::Call& x) {
    return x[0];
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<StopGradient>>({
        {"plain", {}, "f32[2]{1 -0}", "f32[2]{1 -0}", "-"},
        {"integers", {}, "i32[]{3}", "i32[]{3}", "-"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>
#include <cmath>

#include "ops/operation.h"

namespace topos::ops {

/// Whether x is neither infinite nor NaN, element by element.
///
///   derivative  none
struct IsFinite {
  static constexpr std::string_view name = "is_finite";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const IsFinite&) const = default;

  static Type infer(Operands<Type> x) {
    return {boolean, floating(x[0]).shape};
  }

  template <Real T>
  static bool value(T x) {
    return std::isfinite(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V&) {
    return Cotangents<V>(x.size());
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.is_finite(x[0]);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<IsFinite>>({
        {"plain", {}, "f32[5]{1 0x1p-149 inf -inf nan}", "boolean[5]{1 1 0 0 0}", "-"},
        {"f64", {}, "f64[2]{1e308 inf}", "boolean[2]{1 0}", "-"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

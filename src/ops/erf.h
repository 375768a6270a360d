#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// The error function 2/sqrt(pi) int_0^x e^(-t t) dt, element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64
///   derivative  dx = dy (2/sqrt(pi) e^(-mp(x, x)))            [DLMF 7.2.1];
///               a plain x x would give 0 inf at infinity in the next order
struct Erf {
  static constexpr std::string_view name = "erf";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Erf&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::erf(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    const V square = masked_product(x[0], x[0]);
    return {dy * (1.1283791670955126 * exp(-square))};
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Erf>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{0 -0}"},
        {"plain", {}, "f32[2]{0.3 -1.9}", "f32[2]{0x1.50838ap-2 -0x1.fc4f06p-1}"},
        {"f64", {}, "f64[2]{1 0.3}", "f64[2]{0.8427007929497149 0.3286267594591274}"},
        {"ends", {}, "f32[3]{inf -inf nan}", "f32[3]{1 -1 nan}", "f32[3]{0 0 nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

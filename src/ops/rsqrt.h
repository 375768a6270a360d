#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// The reciprocal square root in one rounding, element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64; +-inf at +-0,
///               NaN below
///   derivative  dx = mp(dy, -0.5 mp(y, mp(y, y))): the slope is infinite at 0,
///               and with plain products the second derivative of a branch not
///               taken would meet it as 0 inf
struct Rsqrt {
  static constexpr std::string_view name = "rsqrt";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Rsqrt&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::rsqrt(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V& y, const V& dy) {
    return {masked_product(dy, -0.5 * masked_product(y, masked_product(y, y)))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("rsqrt", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Rsqrt>>({
        {"exact", {}, "f32[2]{4 0.25}", "f32[2]{0.5 2}"},
        {"bf16", {}, "bf16[3]{2 0x1.66p-1 10}", "bf16[3]{0x1.6ap-1 0x1.32p+0 0x1.44p-2}"},
        {"f16", {}, "f16[3]{2 0x1.668p-1 10}", "f16[3]{0x1.6ap-1 0x1.32p+0 0x1.43cp-2}"},
        {"plain", {}, "f32[2]{3 0.7}", "f32[2]{0x1.279a74p-1 0x1.31fa80p+0}"},
        {"f64", {}, "f64[2]{2 3}", "f64[2]{0.7071067811865476 0.5773502691896257}"},
        {"ends", {}, "f32[5]{inf 0 -0 -1 nan}", "f32[5]{0 inf -inf nan nan}", "f32[5]{0 -inf inf nan nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// x Phi(x) [Hendrycks & Gimpel 2016].
///
///   erf   (0.5 x) (1 + erf(x / sqrt 2))
///   tanh  x logistic(x (2 sqrt(2/pi) + 2 sqrt(2/pi) 0.044715 (x x))): the same
///         mathematics as the usual 0.5 x (1 + tanh(...)), which loses all
///         relative accuracy near -6
struct Gelu {
  GeluForm form = GeluForm::erf;

  static constexpr std::string_view name = "gelu";
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"form", &Gelu::form});
  }

  static void check(Operands<Type> x) { floating(x[0]); }

  template <Differentiable V>
  V formula(Operands<V> x) const {
    const V& v = x[0];
    if (form == GeluForm::tanh) {
      return v *
             logistic(v * (1.5957691216057308 + 0.07135481627260025 * (v * v)));
    }
    return (0.5 * v) * (1.0 + erf(v * 0.7071067811865475));
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Gelu>>({
        {"zero", {}, "f32[2]{0 -0}", "f32[2]{0 -0}"},
        {"erf form", {}, "f64[3]{1 0.5 -1}", "f64[3]{0.8413447460685429 0.34573123063700656 -0.15865525393145705}"},
        {"saturated", {}, "f32[2]{20 -20}", "f32[2]{20 -0}"},
        {"tanh form", {GeluForm::tanh}, "f64[4]{1 0.5 -1 -3}", "f64[4]{0.8411919906082767 0.34571400982514394 -0.1588080093917233 -0.003637392081773019}"},
        {"tanh ends", {GeluForm::tanh}, "f32[2]{0 20}", "f32[2]{0 20}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// The natural logarithm, element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64; -inf at zeros,
///               NaN below
///   derivative  dx = mp(dy, 1/x)
struct Ln {
  static constexpr std::string_view name = "ln";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Ln&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::ln(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {masked_product(dy, 1.0 / x[0])};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("log", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Ln>>({
        {"one", {}, "f32[]{1}", "f32[]{0}"},
        {"bf16", {}, "bf16[3]{3 0x1.66p-1 10}", "bf16[3]{0x1.1ap+0 -0x1.6ep-2 0x1.26p+1}"},
        {"f16", {}, "f16[3]{3 0x1.668p-1 10}", "f16[3]{0x1.194p+0 -0x1.6dp-2 0x1.26cp+1}"},
        {"plain", {}, "f32[2]{3 0.7}", "f32[2]{0x1.193ea8p+0 -0x1.6d3c34p-2}"},
        {"f64", {}, "f64[2]{2 3}", "f64[2]{0.6931471805599453 1.0986122886681098}"},
        {"ends", {}, "f32[5]{inf 0 -0 -1 nan}", "f32[5]{inf -inf -inf nan nan}", "f32[5]{0 inf -inf -1 nan}"},
        {"integers", {}, "i32[]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "ops/neg.h"
#include "ops/operation.h"

namespace topos::ops {

/// a / b, element by element. Integers truncate toward zero; a / 0 is -1 and
/// MIN / -1 is MIN, as in XLA.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          not boolean
///   derivative  da = mp(dy, 1/b), db = -mp(dy, y/b), y the quotient
struct Div {
  static constexpr std::string_view name = "div";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Div&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(same(x[0], x[1])); }

  template <Arithmetic T>
  static T value(T a, T b) {
    if constexpr (Integer<T>) {
      if (b == 0) return -1;
      if (b == -1) return Neg::value(a);
    }
    return a / b;
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V& y, const V& dy) {
    return {masked_product(dy, 1.0 / x[1]), -masked_product(dy, y / x[1])};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("divide", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Div>>({
        {"plain", {}, "f32[3]{1 -6 1} f32[3]{4 2 3}", "f32[3]{0.25 -3 0x1.555556p-2}"},
        {"bf16", {}, "bf16[2]{1 2} bf16[2]{3 3}", "bf16[2]{0x1.56p-2 0x1.56p-1}"},
        {"by zero", {}, "f32[3]{1 -1 0} f32[3]{0 0 0}", "f32[3]{inf -inf nan}", "f32[3]{inf inf inf} f32[3]{-inf inf nan}"},
        {"integers", {}, "i32[5]{7 -7 7 -2147483648 0} i32[5]{2 2 0 -1 0}", "i32[5]{3 -3 -1 -2147483648 -1}", "-"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C2 shapes", {}, "f32[2] f32[3]", "the shapes [2] and [3] differ"},
        {"C3 boolean", {}, "boolean[2] boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

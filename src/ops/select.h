#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// a where the condition holds, else b, element by element.
///
///   C1          the condition is boolean
///   C2          x and y have one dtype
///   C3          the three shapes are equal (the caller broadcasts)
///   derivative  da = select(condition, dy, +0), db the other
struct Select {
  static constexpr std::string_view name = "select";
  static constexpr int arity = 3;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Select&) const = default;

  static Type infer(Operands<Type> x) {
    logical(x[0]);                    // C1
    same(x[1], x[2]);                 // C2, C3
    expect_equal_shapes(x[0], x[1]);  // C3
    return x[2];
  }

  template <Element T>
  static T value(bool condition, T a, T b) {
    return condition ? a : b;
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {std::nullopt, select(x[0], dy, 0.0), select(x[0], 0.0, dy)};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.select(x[0], x[1], x[2]);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Select>>({
        {"plain", {}, "boolean[2]{1 0} f32[2]{1 2} f32[2]{3 4}", "f32[2]{1 4}", "- f32[2]{1 0} f32[2]{0 1}"},
        {"bf16", {}, "boolean[2]{1 0} bf16[2]{-0 1} bf16[2]{3 0x1p-133}", "bf16[2]{-0 0x1p-133}", "- bf16[2]{1 0} bf16[2]{0 1}"},
        {"slopes", {}, "boolean[3]{1 0 1} f64[3]{1 2 5} f64[3]{3 4 6}", "f64[3]{1 4 5}"},
        {"bits", {}, "boolean[2]{1 0} f32[2]{-0 1} f32[2]{nan nan}", "f32[2]{-0 nan}", "- f32[2]{1 0} f32[2]{0 1}"},
        {"integers", {}, "boolean[2]{1 0} i64[2]{1 2} i64[2]{3 4}", "i64[2]{1 4}", "-"},
        {"booleans", {}, "boolean[2]{1 0} boolean[2]{1 1} boolean[2]{0 0}", "boolean[2]{1 0}", "-"},
        {"C1 condition", {}, "i32[2] f32[2] f32[2]", "i32 is not boolean"},
        {"C2 dtypes", {}, "boolean[2] f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C3 shapes", {}, "boolean[3] f32[2] f32[2]", "the shapes [3] and [2] differ"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

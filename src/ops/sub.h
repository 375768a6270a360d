#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/wrapping.h"

namespace topos::ops {

/// a - b, element by element; integers wrap.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          not boolean
///   derivative  da = dy, db = -dy
struct Sub {
  static constexpr std::string_view name = "sub";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Sub&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(same(x[0], x[1])); }

  template <Arithmetic T>
  static T value(T a, T b) {
    return wrapping<T>(a, b, [](auto x, auto y) { return x - y; });
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V&, const V& dy) {
    return {dy, -dy};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("subtract", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Sub>>({
        {"plain", {}, "f32[2]{1 5} f32[2]{2 2}", "f32[2]{-1 3}"},
        {"bf16", {}, "bf16[2]{1 256} bf16[2]{0x1p-9 1}", "bf16[2]{1 255}"},
        {"zeros", {}, "f32[2]{0 -0} f32[2]{0 0}", "f32[2]{0 -0}"},
        {"not numbers", {}, "f32[2]{inf nan} f32[2]{inf 1}", "f32[2]{nan nan}", "f32[2]{1 1} f32[2]{-1 -1}"},
        {"wraps", {}, "i64[]{-9223372036854775808} i64[]{1}", "i64[]{9223372036854775807}", "-"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C2 shapes", {}, "f32[2] f32[3]", "the shapes [2] and [3] differ"},
        {"C3 boolean", {}, "boolean[2] boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

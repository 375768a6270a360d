#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/wrapping.h"

namespace topos::ops {

/// a + b, element by element; integers wrap.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          not boolean
///   derivative  da = dy, db = dy
struct Add {
  static constexpr std::string_view name = "add";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Add&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(same(x[0], x[1])); }

  template <Arithmetic T>
  static T value(T a, T b) {
    return wrapping<T>(a, b, [](auto x, auto y) { return x + y; });
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V>, const V&, const V& dy) {
    return {dy, dy};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("add", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Add>>({
        {"plain", {}, "f32[2]{1 0.1} f32[2]{2 0.2}", "f32[2]{3 0x1.333334p-2}"},
        {"bf16", {}, "bf16[2]{1 0x1.02p0} bf16[2]{0x1p-8 0x1p-8}", "bf16[2]{1 0x1.04p0}"},
        {"f16", {}, "f16[2]{1 65504} f16[2]{0x1p-11 16}", "f16[2]{1 inf}", "f16[2]{1 1} f16[2]{1 1}"},
        {"zeros", {}, "f32[2]{-0 -0} f32[2]{-0 0}", "f32[2]{-0 0}"},
        {"subnormals", {}, "f32[]{0x1p-149} f32[]{0x1p-149}", "f32[]{0x1p-148}"},
        {"not numbers", {}, "f32[2]{inf nan} f32[2]{-inf 1}", "f32[2]{nan nan}", "f32[2]{1 1} f32[2]{1 1}"},
        {"wraps", {}, "i32[]{2147483647} i32[]{1}", "i32[]{-2147483648}", "-"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C2 shapes", {}, "f32[2] f32[3]", "the shapes [2] and [3] differ"},
        {"C3 boolean", {}, "boolean[2] boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

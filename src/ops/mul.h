#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/wrapping.h"

namespace topos::ops {

/// a b, element by element; integers wrap.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          not boolean
///   derivative  da = dy b, db = dy a
struct Mul {
  static constexpr std::string_view name = "mul";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Mul&) const = default;

  static Type infer(Operands<Type> x) { return arithmetic(same(x[0], x[1])); }

  template <Arithmetic T>
  static T value(T a, T b) {
    return wrapping<T>(a, b, [](auto x, auto y) { return x * y; });
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    return {dy * x[1], dy * x[0]};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("multiply", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Mul>>({
        {"plain", {}, "f32[2]{3 -5} f32[2]{2 2}", "f32[2]{6 -10}"},
        {"f16", {}, "f16[3]{256 0x1p-14 0x1p-14} f16[3]{256 0x1.8p-11 0x1p-11}", "f16[3]{inf 0x1p-24 0}", "f16[3]{256 0x1.8p-11 0x1p-11} f16[3]{256 0x1p-14 0x1p-14}"},
        {"signs", {}, "f32[2]{-3 0} f32[2]{0 -3}", "f32[2]{-0 -0}"},
        {"0 inf", {}, "f32[]{0} f32[]{inf}", "f32[]{nan}", "f32[]{inf} f32[]{0}"},
        {"subnormal", {}, "f32[]{0x1p-126} f32[]{0.5}", "f32[]{0x1p-127}"},
        {"wraps", {}, "i32[]{65536} i32[]{65536}", "i32[]{0}", "-"},
        {"wraps i64", {}, "i64[]{4294967297} i64[]{4294967297}", "i64[]{8589934593}", "-"},
        {"C1 dtypes", {}, "f32[2] f64[2]", "the dtypes f32 and f64 differ: cast one"},
        {"C2 shapes", {}, "f32[2] f32[3]", "the shapes [2] and [3] differ"},
        {"C3 boolean", {}, "boolean[2] boolean[2]", "boolean has no arithmetic"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

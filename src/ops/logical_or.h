#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// a or b, of booleans.
///
///   derivative  none
struct LogicalOr {
  static constexpr std::string_view name = "logical_or";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const LogicalOr&) const = default;

  static Type infer(Operands<Type> x) { return logical(same(x[0], x[1])); }

  template <std::same_as<bool> T>
  static T value(T a, T b) {
    return a || b;
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V&) {
    return Cotangents<V>(x.size());
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("or", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<LogicalOr>>({
        {"table", {}, "boolean[4]{0 0 1 1} boolean[4]{0 1 0 1}", "boolean[4]{0 1 1 1}", "-"},
        {"floats", {}, "f32[2] f32[2]", "f32 is not boolean"},
        {"shapes", {}, "boolean[2] boolean[3]", "the shapes [2] and [3] differ"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

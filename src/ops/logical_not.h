#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// not x, of booleans.
///
///   derivative  none
struct LogicalNot {
  static constexpr std::string_view name = "logical_not";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const LogicalNot&) const = default;

  static Type infer(Operands<Type> x) { return logical(x[0]); }

  template <std::same_as<bool> T>
  static T value(T x) {
    return !x;
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V&) {
    return Cotangents<V>(x.size());
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return out.elementwise("not", x);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<LogicalNot>>({
        {"table", {}, "boolean[2]{0 1}", "boolean[2]{1 0}", "-"},
        {"integers", {}, "i32[2]", "i32 is not boolean"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

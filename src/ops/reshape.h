#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// The same elements in row-major order under another shape.
///
///   C1          the element counts are equal; the caller's -1 is inferred
///   derivative  dx = reshape(dy, x's shape)
struct Reshape {
  Shape shape;

  static constexpr std::string_view name = "reshape";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"shape", &Reshape::shape});
  }
  bool operator==(const Reshape&) const = default;

  static Reshape make(Operands<Type> x, const Shape& shape) {
    return {infer_extents(x[0].shape, shape)};
  }

  Type infer(Operands<Type> x) const {
    return {x[0].dtype, infer_extents(x[0].shape, shape)};  // C1
  }

  template <class X>
  View<X> view(const X& x) const {
    return x.reshaped(shape);
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    return {reshape(dy, x[0].type().shape)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.reshape(x[0], x.result.shape);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Reshape>>({
        {"plain", {{3, 2}}, "f32[2, 3]{1 2 3 4 5 6}", "f32[3, 2]{1 2 3 4 5 6}"},
        {"to scalar", {{}}, "f32[1, 1]{7}", "f32[]{7}"},
        {"booleans", {{2, 1}}, "boolean[2]{0 1}", "boolean[2, 1]{0 1}", "-"},
        {"empty", {{0, 5}}, "f32[3, 0]{}", "f32[0, 5]{}"},
        {"C1 count", {{4}}, "f32[2, 3]", "[2, 3] has 6 elements, but [4] has 4"},
        {"C1 negative", {{-2, -3}}, "f32[2, 3]", "the shape [-2, -3] has a negative extent, or more than one -1"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

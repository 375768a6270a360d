#pragma once

#include <array>

#include "ops/operation.h"
#include "tensor/visit.h"

namespace topos::ops {

/// The index along one axis.
///
///   C1          not boolean
///   C2          the axis exists
///   derivative  no operands
struct Iota {
  Type type;
  std::int8_t axis = 0;

  static constexpr std::string_view name = "iota";
  static constexpr int arity = 0;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"type", &Iota::type},
                           std::pair{"axis", &Iota::axis});
  }
  bool operator==(const Iota&) const = default;

  static Iota make(Operands<Type>, const Type& type, int axis) {
    return {type, axis_attribute(axis, type.shape.rank())};  // C2
  }

  Type infer(Operands<Type>) const {
    expect_axis(axis, type.shape.rank());  // C2
    type.size_bytes();
    return arithmetic(type);  // C1
  }

  void value(Operands<Tensor>, Output y) const {
    // A layout whose position is the index.
    Layout index{type.shape, {}, 0};
    for (int i = 0; i < type.shape.rank(); ++i) {
      index.strides.push_back(i == axis ? 1 : 0);
    }
    visit_dtype(type.dtype, [&]<class T>() {
      T* out = y.as<T>();
      for_each_position(index,
                        [&](std::int64_t i) { *out++ = static_cast<T>(i); });
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V>, const V&, const V&) const {
    return {};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.iota(x.result, axis);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Iota>>({
        {"rows", {{i32, {2, 3}}, 0}, "", "i32[2, 3]{0 0 0 1 1 1}"},
        {"f16", {{f16, {3}}, 0}, "", "f16[3]{0 1 2}"},
        {"columns", {{f32, {2, 3}}, 1}, "", "f32[2, 3]{0 1 2 0 1 2}"},
        {"middle", {{f64, {1, 3, 2}}, 1}, "", "f64[1, 3, 2]{0 0 1 1 2 2}"},
        {"empty", {{i64, {0}}, 0}, "", "i64[0]{}"},
        {"C1 boolean", {{boolean, {2}}, 0}, "", "boolean has no arithmetic"},
        {"C2 axis", {{i32, {}}, 0}, "", "the axis 0 is not in a tensor of rank 0"},
        {"negative", {{i32, {-1}}, 0}, "", "the shape [-1] has a negative extent"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

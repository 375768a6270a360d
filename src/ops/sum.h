#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/reduced_sum.h"
#include "tensor/visit.h"

namespace topos::ops {

/// The sum over axes, which it drops.
///
///   value       sum_reference.h over the reduced axes in row-major order, in
///               f64 whatever the floating dtype, rounded once; integers modulo
///               2^n
///   C1          not boolean
///   C2          the axes exist
///   derivative  dx = broadcast(dy)
struct Sum {
  Axes axes;

  static constexpr std::string_view name = "sum";
  static constexpr bool sums_in_f64 = true;
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &Sum::axes});
  }
  bool operator==(const Sum&) const = default;

  static Sum make(Operands<Type> x, const Axes& axes) {
    return {normalize_axes(axes, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    arithmetic(x[0]);                      // C1
    expect_axes(axes, x[0].shape.rank());  // C2
    return {x[0].dtype, x[0].shape.without(axes)};
  }

  void value(Operands<Tensor> x, Output y) const {
    const Split at = split(layout_of(x[0]), axes);
    visit_dtype(y.type.dtype, [&]<class T>() {
      const T* from = elements_of<T>(x[0]);
      T* out = y.as<T>();
      for_each_position(at.kept, [&](std::int64_t base) {
        if constexpr (Real<T>) {
          *out++ = static_cast<T>(reduced_sum(from + base, at.reduced));
        } else if constexpr (Integer<T>) {
          std::uint64_t total = 0;
          for_each_position(at.reduced, [&](std::int64_t i) {
            total += static_cast<std::uint64_t>(from[base + i]);
          });
          *out++ = static_cast<T>(total);
        }
      });
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const Shape shape = x[0].type().shape;
    return {broadcast(dy, shape, other_axes(axes, shape.rank()))};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.reduce(stablehlo::Reduction::add, x[0], axes);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Sum>>({
        {"all", {{0, 1}}, "f32[2, 2]{1 2 3 4}", "f32[]{10}"},
        {"bf16", {{0}}, "bf16[4]{256 1 1 1}", "bf16[]{260}"},
        {"one rounding", {{0}}, "bf16[3]{1 0x1p-8 0x1p-40}", "bf16[]{0x1.02p0}"},
        {"columns", {{0}}, "f32[2, 2]{1 2 3 4}", "f32[2]{4 6}"},
        {"rows", {{1}}, "f64[2, 2]{1 2 3 4}", "f64[2]{3 7}"},
        {"outer axes", {{0, 2}}, "f32[2, 2, 1]{1 2 3 6}", "f32[2]{4 8}"},
        {"no axis", {{}}, "f32[2]{1 -0}", "f32[2]{1 0}"},
        {"zeros", {{0}}, "f32[2]{-0 -0}", "f32[]{0}"},
        {"nothing", {{0}}, "f32[0, 2]{}", "f32[2]{0 0}"},
        {"no rows", {{1}}, "f32[0, 2]{}", "f32[0]{}"},
        {"in f64", {{0}}, "f32[3]{0x1p24 1 1}", "f32[]{16777218}", "f32[3]{1 1 1}"},
        {"lanes", {{0}}, "f64[16]{1 0 0 0 0x1p-53 0 0 0 0 0 0 0 0x1p-53 0 0 0}", "f64[]{0x1.0000000000001p0}"},
        {"wraps", {{0}}, "i32[2]{2147483647 1}", "i32[]{-2147483648}", "-"},
        {"C1 boolean", {{0}}, "boolean[2]", "boolean has no arithmetic"},
        {"C2 axis", {{1}}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
        {"C2 twice", {{0, 0}}, "f32[2]", "the axis 0 is named twice in [0, 0]"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

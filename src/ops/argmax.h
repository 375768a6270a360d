#pragma once

#include <array>
#include <limits>

#include "ops/extremum.h"
#include "ops/operation.h"
#include "tensor/visit.h"

namespace topos::ops {

/// The i32 index of the greatest element along an axis, which it drops: of the
/// first NaN, else the lowest of a tie.
///
///   C1          not boolean
///   C2          the axis exists, is not empty, and its extent fits i32
///   derivative  none
struct ArgMax {
  std::int8_t axis = 0;

  static constexpr std::string_view name = "argmax";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &ArgMax::axis});
  }
  bool operator==(const ArgMax&) const = default;

  static ArgMax make(Operands<Type> x, int axis) {
    return {axis_attribute(axis, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    arithmetic(x[0]);                                                   // C1
    expect_axis(axis, x[0].shape.rank());                               // C2
    expect_elements(x[0].shape, {axis});                                // C2
    if (x[0].shape[axis] > std::numeric_limits<std::int32_t>::max()) {  // C2
      throw ShapeError(fmt::format("the extent {} of axis {} does not fit i32",
                                   x[0].shape[axis], axis));
    }
    return {i32, x[0].shape.without({axis})};
  }

  void value(Operands<Tensor> x, Output y) const {
    const Split at = split(layout_of(x[0]), {axis});
    visit_dtype(x[0].dtype(), [&]<class T>() {
      const T* from = elements_of<T>(x[0]);
      std::int32_t* out = y.as<std::int32_t>();
      for_each_position(at.kept, [&](std::int64_t base) {
        T best = from[base];
        std::int32_t index = 0;
        std::int32_t where = 0;
        for_each_position(at.reduced, [&](std::int64_t i) {
          const T candidate = from[base + i];
          const bool first_nan = candidate != candidate && best == best;
          if (first_nan || candidate > best) {
            best = candidate;
            where = index;
          }
          ++index;
        });
        *out++ = where;
      });
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V&) const {
    return Cotangents<V>(x.size());
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.argmax(x[0], axis);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<ArgMax>>({
        {"rows", {1}, "f32[2, 3]{1 5 5 7 2 3}", "i32[2]{1 0}", "-"},
        {"f16", {0}, "f16[3]{1 65504 -2}", "i32[]{1}", "-"},
        {"columns", {0}, "f32[2, 2]{1 5 5 2}", "i32[2]{1 0}", "-"},
        {"NaN", {0}, "f32[4]{9 nan 10 nan}", "i32[]{1}", "-"},
        {"NaN first", {0}, "f32[2]{nan 10}", "i32[]{0}", "-"},
        {"zeros tie", {0}, "f32[2]{-0 0}", "i32[]{0}", "-"},
        {"-inf", {0}, "f32[2]{-inf -inf}", "i32[]{0}", "-"},
        {"integers", {0}, "i64[3]{-3 9 9}", "i32[]{1}", "-"},
        {"no rows", {1}, "f32[0, 2]{}", "i32[0]{}", "-"},
        {"C1 boolean", {0}, "boolean[2]", "boolean has no arithmetic"},
        {"C2 axis", {1}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
        {"C2 nothing", {0}, "f32[0]", "axis 0 of [0] is empty"},
        {"C2 too long", {0}, "f32[2147483648]", "the extent 2147483648 of axis 0 does not fit i32"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "ops/operation.h"
#include "tensor/visit.h"

namespace topos::ops {

/// The operands one after the other along an axis.
///
///   C1          at least one operand, and the axis exists
///   C2          the dtypes and all other extents are equal
///   derivative  each operand's part of dy
struct Concat {
  std::int8_t axis = 0;

  static constexpr std::string_view name = "concat";
  static constexpr bool only_moves = true;
  static constexpr int arity = any_number;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &Concat::axis});
  }
  bool operator==(const Concat&) const = default;

  static Concat make(Operands<Type> x, int axis) {
    if (x.empty()) throw ShapeError("nothing to concatenate");  // C1
    return {axis_attribute(axis, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    if (x.empty()) throw ShapeError("nothing to concatenate");  // C1
    expect_axis(axis, x[0].shape.rank());                       // C1
    Type type = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) {
      expect_equal_dtypes(type, x[i]);  // C2
      if (x[i].shape.rank() != type.shape.rank() ||
          x[i].shape.with(axis, 0) != type.shape.with(axis, 0)) {  // C2
        throw ShapeError(
            fmt::format("the shapes {} and {} differ beside axis {}",
                        x[0].shape.text(), x[i].shape.text(), axis));
      }
      if (__builtin_add_overflow(type.shape[axis], x[i].shape[axis],
                                 &type.shape[axis])) {
        throw ShapeError("the extent of the result overflows");
      }
    }
    type.size_bytes();
    return type;
  }

  void value(Operands<Tensor> x, Output y) const {
    const Layout whole = Layout::row_major(y.type.shape);
    std::int64_t start = 0;
    for (const Tensor& part : x) {
      const std::int64_t count = part.shape()[axis];
      visit_dtype(y.type.dtype, [&]<class T>() {
        const Layout to = whole.narrowed(axis, start, count);
        const T* from = elements_of<T>(part);
        T* out = y.as<T>();
        std::int64_t i = 0;
        for_each_position(layout_of(part), [&](std::int64_t at) {
          out[position_of(to, i++)] = from[at];
        });
      });
      start += count;
    }
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    Cotangents<V> result;
    std::int64_t start = 0;
    for (const V& part : x) {
      const std::int64_t count = part.type().shape[axis];
      result.push_back(narrow(dy, axis, start, count));
      start += count;
    }
    return result;
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.concatenate(x, axis);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Concat>>({
        {"vectors", {0}, "f32[2]{1 2} f32[1]{3}", "f32[3]{1 2 3}"},
        {"f16", {0}, "f16[1]{0x1p-24} f16[1]{-0}", "f16[2]{0x1p-24 -0}"},
        {"columns", {1}, "f32[2, 1]{1 2} f32[2, 2]{3 4 5 6}", "f32[2, 3]{1 3 4 2 5 6}"},
        {"one", {0}, "f32[1]{1}", "f32[1]{1}"},
        {"three", {0}, "i32[1]{1} i32[2]{2 3} i32[1]{4}", "i32[4]{1 2 3 4}", "-"},
        {"booleans", {0}, "boolean[1]{1} boolean[1]{0}", "boolean[2]{1 0}", "-"},
        {"empty part", {0}, "f32[0]{} f32[1]{3} f32[0]{}", "f32[1]{3}"},
        {"C1 nothing", {0}, "", "nothing to concatenate"},
        {"C1 scalars", {0}, "f32[] f32[]", "the axis 0 is not in a tensor of rank 0"},
        {"C2 shapes", {0}, "f32[2, 3] f32[2, 4]", "the shapes [2, 3] and [2, 4] differ beside axis 0"},
        {"C2 ranks", {0}, "f32[2] f32[2, 1]", "the shapes [2] and [2, 1] differ beside axis 0"},
        {"C2 dtypes", {0}, "f32[2] i32[2]", "the dtypes f32 and i32 differ: cast one"},
        {"overflow", {0}, "f32[9223372036854775807, 0] f32[1, 0]", "the extent of the result overflows"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

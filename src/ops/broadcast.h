#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// x repeated: axis i of x is axis `axes[i]` of the result; every other axis of
/// the result repeats, and an extent of 1 stretches.
///
///   C1          `axes` names an axis of the result for each axis of x
///   C2          they ascend
///   C3          each extent of x is 1 or the result's
///   derivative  one sum over all expanded or added axes of extent other than
///               1, then a reshape; a broadcast that repeats nothing is a
///               reshape, for a sum over an extent of 1 would lose -0
struct Broadcast {
  Shape shape;
  Axes axes;

  static constexpr std::string_view name = "broadcast";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"shape", &Broadcast::shape},
                           std::pair{"axes", &Broadcast::axes});
  }
  bool operator==(const Broadcast&) const = default;

  static Broadcast make(Operands<Type>, const Shape& shape, const Axes& axes) {
    Axes at;
    for (int axis : axes) at.push_back(axis_attribute(axis, shape.rank()));
    return {shape, at};
  }
  /// Right-aligned.
  static Broadcast make(Operands<Type> x, const Shape& shape) {
    const int added = shape.rank() - x[0].shape.rank();
    if (added < 0) {  // C1
      throw ShapeError(fmt::format("{} does not broadcast to {}",
                                   x[0].shape.text(), shape.text()));
    }
    Axes at;
    for (int axis = added; axis < shape.rank(); ++axis) {
      at.push_back(static_cast<std::int8_t>(axis));
    }
    return {shape, at};
  }

  Type infer(Operands<Type> x) const {
    const Shape& from = x[0].shape;
    if (axes.size() != from.rank()) {  // C1
      throw ShapeError(fmt::format("{} axes do not place a tensor of rank {}",
                                   axes.size(), from.rank()));
    }
    for (int i = 0; i < axes.size(); ++i) {
      expect_axis(axes[i], shape.rank());     // C1
      if (i > 0 && axes[i] <= axes[i - 1]) {  // C2
        throw ShapeError(fmt::format("the axes {} do not ascend", axes.text()));
      }
      if (from[i] != shape[axes[i]] && from[i] != 1) {  // C3
        throw ShapeError(fmt::format("{} does not broadcast to {}", from.text(),
                                     shape.text()));
      }
    }
    const Type type{x[0].dtype, shape};
    type.size_bytes();
    return type;
  }

  template <class X>
  View<X> view(const X& x) const {
    return x.broadcasted(shape, axes);
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const Shape from = x[0].type().shape;
    Axes repeated;
    for (int axis = 0, next = 0; axis < shape.rank(); ++axis) {
      const bool placed = next < axes.size() && axes[next] == axis;
      const std::int64_t extent = placed ? from[next++] : 1;
      if (extent != shape[axis]) {
        repeated.push_back(static_cast<std::int8_t>(axis));
      }
    }
    const V total = repeated.empty() ? dy : sum(dy, repeated);
    return {total.type().shape == from ? total : reshape(total, from)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.broadcast(x[0], shape, axes);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Broadcast>>({
        {"row", {{2, 2}, {1}}, "f32[2]{1 2}", "f32[2, 2]{1 2 1 2}"},
        {"column", {{2, 2}, {0}}, "f32[2]{1 2}", "f32[2, 2]{1 1 2 2}", "f32[2]{2 2}"},
        {"stretch", {{2, 2}, {0, 1}}, "f32[1, 2]{1 2}", "f32[2, 2]{1 2 1 2}"},
        {"scalar", {{2}, {}}, "f32[]{3}", "f32[2]{3 3}"},
        {"nothing", {{1, 2}, {1}}, "f32[2]{-0 1}", "f32[1, 2]{-0 1}"},
        {"to empty", {{0, 2}, {1}}, "f32[2]{1 2}", "f32[0, 2]{}", "f32[2]{0 0}"},
        {"integers", {{2}, {0}}, "i64[1]{9007199254740993}", "i64[2]{9007199254740993 9007199254740993}", "-"},
        {"C1 rank", {{2, 2}, {1}}, "f32[]", "1 axes do not place a tensor of rank 0"},
        {"C1 axis", {{2, 2}, {2}}, "f32[2]", "the axis 2 is not in a tensor of rank 2"},
        {"C2 order", {{2, 2}, {1, 0}}, "f32[2, 2]", "the axes [1, 0] do not ascend"},
        {"C3 extent", {{2, 3}, {1}}, "f32[2]", "[2] does not broadcast to [2, 3]"},
        {"negative", {{-2, 3}, {1}}, "f32[3]", "the shape [-2, 3] has a negative extent"},
        {"overflow", {{4294967296, 4294967296}, {}}, "f32[]", "the element count of the shape [4294967296, 4294967296] overflows"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

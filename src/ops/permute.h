#pragma once

#include <array>
#include <utility>

#include "ops/operation.h"

namespace topos::ops {

/// Axis i of the result is axis `axes[i]` of x.
///
///   C1          `axes` names every axis once
///   derivative  the inverse permutation of dy
struct Permute {
  Axes axes;

  static constexpr std::string_view name = "permute";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &Permute::axes});
  }
  bool operator==(const Permute&) const = default;

  static Permute make(Operands<Type> x, const Axes& axes) {
    Permute result;
    for (int axis : axes) {
      result.axes.push_back(axis_attribute(axis, x[0].shape.rank()));
    }
    return result;
  }
  /// Two axes exchanged.
  static Permute make(Operands<Type> x, int first, int second) {
    const int rank = x[0].shape.rank();
    Permute result;
    for (int axis = 0; axis < rank; ++axis) {
      result.axes.push_back(static_cast<std::int8_t>(axis));
    }
    std::swap(result.axes[normalize_axis(first, rank)],
              result.axes[normalize_axis(second, rank)]);
    return result;
  }

  Type infer(Operands<Type> x) const {
    const Shape& from = x[0].shape;
    if (axes.size() != from.rank()) {  // C1
      throw ShapeError(fmt::format("{} axes do not permute a tensor of rank {}",
                                   axes.size(), from.rank()));
    }
    normalize_axes(axes, from.rank());  // C1
    for (int axis : axes) expect_axis(axis, from.rank());
    Shape shape;
    for (int axis : axes) shape.push_back(from[axis]);
    return {x[0].dtype, shape};
  }

  template <class X>
  View<X> view(const X& x) const {
    return x.permuted(axes);
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V>, const V&, const V& dy) const {
    Axes inverse = axes;
    for (int i = 0; i < axes.size(); ++i) {
      inverse[axes[i]] = static_cast<std::int8_t>(i);
    }
    return {permute(dy, inverse)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.transpose(x[0], axes);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Permute>>({
        {"transpose", {{1, 0}}, "f32[2, 3]{1 2 3 4 5 6}", "f32[3, 2]{1 4 2 5 3 6}"},
        {"cycle", {{2, 0, 1}}, "f32[1, 2, 3]{1 2 3 4 5 6}", "f32[3, 1, 2]{1 4 2 5 3 6}"},
        {"scalar", {{}}, "f32[]{1}", "f32[]{1}"},
        {"empty", {{1, 0}}, "f32[0, 2]{}", "f32[2, 0]{}"},
        {"C1 rank", {{0}}, "f32[2, 3]", "1 axes do not permute a tensor of rank 2"},
        {"C1 axis", {{0, 2}}, "f32[2, 3]", "the axis 2 is not in a tensor of rank 2"},
        {"C1 twice", {{1, 1}}, "f32[2, 3]", "the axis 1 is named twice in [1, 1]"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

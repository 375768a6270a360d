#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// Elements [start, start + count) of one axis.
///
///   C1          the axis exists
///   C2          the elements do
///   derivative  dx = dy padded with zeros
struct Narrow {
  std::int8_t axis = 0;
  std::int64_t start = 0;
  std::int64_t count = 0;

  static constexpr std::string_view name = "narrow";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &Narrow::axis},
                           std::pair{"start", &Narrow::start},
                           std::pair{"count", &Narrow::count});
  }
  bool operator==(const Narrow&) const = default;

  static Narrow make(Operands<Type> x, int axis, std::int64_t start,
                     std::int64_t count) {
    return {axis_attribute(axis, x[0].shape.rank()), start, count};
  }

  Type infer(Operands<Type> x) const {
    const Shape& from = x[0].shape;
    expect_axis(axis, from.rank());  // C1
    if (start < 0 || count < 0 || start > from[axis] ||
        count > from[axis] - start) {  // C2
      throw ShapeError(
          fmt::format("the elements [{}, {} + {}) are not in axis {} of {}",
                      start, start, count, axis, from.text()));
    }
    return {x[0].dtype, from.with(axis, count)};
  }

  template <class X>
  View<X> view(const X& x) const {
    return x.narrowed(axis, start, count);
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const Shape from = x[0].type().shape;
    Shape low = from;
    for (std::int64_t& extent : low) extent = 0;
    const Shape high = low.with(axis, from[axis] - start - count);
    return {pad(dy, low.with(axis, start), high)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.slice(x[0], axis, start, count);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Narrow>>({
        {"middle", {0, 1, 2}, "f32[4]{1 2 3 4}", "f32[2]{2 3}", "f32[4]{0 1 1 0}"},
        {"columns", {1, 1, 1}, "f32[2, 2]{1 2 3 4}", "f32[2, 1]{2 4}"},
        {"all", {0, 0, 2}, "i32[2]{1 2}", "i32[2]{1 2}", "-"},
        {"nothing", {0, 4, 0}, "f32[4]{1 2 3 4}", "f32[0]{}"},
        {"C1 axis", {1, 0, 1}, "f32[4]", "the axis 1 is not in a tensor of rank 1"},
        {"C2 beyond", {0, 3, 2}, "f32[4]", "the elements [3, 3 + 2) are not in axis 0 of [4]"},
        {"C2 far", {0, 1, 9223372036854775807}, "f32[4]", "the elements [1, 1 + 9223372036854775807) are not in axis 0 of [4]"},
        {"C2 negative", {0, -1, 2}, "f32[4]", "the elements [-1, -1 + 2) are not in axis 0 of [4]"},
        {"C2 count", {0, 1, -1}, "f32[4]", "the elements [1, 1 + -1) are not in axis 0 of [4]"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

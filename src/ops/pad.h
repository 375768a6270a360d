#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "ops/operation.h"
#include "tensor/visit.h"

namespace topos::ops {

/// `low[i]` copies of a number before axis i and `high[i]` after it.
///
///   C1          `low` and `high` have an entry for each axis, none negative
///   C2          the dtype holds the number
///   derivative  dx = dy without the padding
struct Pad {
  Shape low;
  Shape high;
  Number value_outside = 0;

  static constexpr std::string_view name = "pad";
  static constexpr bool only_moves = true;
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"low", &Pad::low},
                           std::pair{"high", &Pad::high},
                           std::pair{"value", &Pad::value_outside});
  }
  bool operator==(const Pad&) const = default;

  Type infer(Operands<Type> x) const {
    const Shape& from = x[0].shape;
    if (low.rank() != from.rank() || high.rank() != from.rank()) {  // C1
      throw ShapeError(fmt::format("{} and {} do not pad a tensor of rank {}",
                                   low.text(), high.text(), from.rank()));
    }
    Type type = x[0];
    for (int axis = 0; axis < from.rank(); ++axis) {
      std::int64_t& extent = type.shape[axis];
      if (low[axis] < 0 || high[axis] < 0) {  // C1
        throw ShapeError(fmt::format("the padding {}, {} is negative",
                                     low.text(), high.text()));
      }
      if (__builtin_add_overflow(extent, low[axis], &extent) ||
          __builtin_add_overflow(extent, high[axis], &extent)) {
        throw ShapeError("the extent of the result overflows");
      }
    }
    visit_dtype(type.dtype, [&]<class T>() {
      if constexpr (std::same_as<T, bool>) {
        // The default 0 pads booleans with false.
        if (value_outside != Number(0)) value_outside.as<T>();
      } else {
        value_outside.as<T>();  // C2
      }
    });
    type.size_bytes();
    return type;
  }

  void value(Operands<Tensor> x, Output y) const {
    Layout inside = Layout::row_major(y.type.shape);
    for (int axis = 0; axis < low.rank(); ++axis) {
      inside = inside.narrowed(axis, low[axis], x[0].shape()[axis]);
    }
    visit_dtype(y.type.dtype, [&]<class T>() {
      T* out = y.as<T>();
      T outside{};
      if (value_outside != Number(0)) outside = value_outside.as<T>();
      std::fill_n(out, y.type.shape.element_count(), outside);
      const T* from = elements_of<T>(x[0]);
      std::int64_t i = 0;
      for_each_position(layout_of(x[0]), [&](std::int64_t at) {
        out[position_of(inside, i++)] = from[at];
      });
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const Shape from = x[0].type().shape;
    V inside = dy;
    for (int axis = 0; axis < from.rank(); ++axis) {
      if (low[axis] != 0 || high[axis] != 0) {
        inside = narrow(inside, axis, low[axis], from[axis]);
      }
    }
    return {inside};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.pad(x[0], value_outside, low, high);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Pad>>({
        {"vector", {{1}, {2}}, "f32[2]{1 2}", "f32[5]{0 1 2 0 0}"},
        {"f16", {{1}, {0}, 0.1}, "f16[1]{2}", "f16[2]{0x1.998p-4 2}"},
        {"matrix", {{0, 1}, {1, 0}}, "f32[1, 2]{1 2}", "f32[2, 3]{0 1 2 0 0 0}"},
        {"value", {{0, 1}, {0, 0}, 9}, "i32[2, 1]{1 2}", "i32[2, 2]{9 1 9 2}", "-"},
        {"-0", {{1}, {0}, -0.0}, "f32[1]{1}", "f32[2]{-0 1}"},
        {"-inf", {{1}, {0}, -std::numeric_limits<double>::infinity()}, "f32[1]{1}", "f32[2]{-inf 1}", "f32[1]{1}"},
        {"boolean", {{1}, {0}}, "boolean[1]{1}", "boolean[2]{0 1}", "-"},
        {"true", {{1}, {0}, true}, "boolean[1]{0}", "boolean[2]{1 0}", "-"},
        {"nothing", {{0}, {0}}, "f32[1]{-0}", "f32[1]{-0}"},
        {"scalar", {{}, {}}, "f32[]{3}", "f32[]{3}"},
        {"from empty", {{1}, {1}}, "f32[0]{}", "f32[2]{0 0}", "f32[0]{}"},
        {"C1 rank", {{1}, {1}}, "f32[2, 2]", "[1] and [1] do not pad a tensor of rank 2"},
        {"C1 negative", {{-1}, {0}}, "f32[2]", "the padding [-1], [0] is negative"},
        {"C2 number", {{1}, {0}, 2.5}, "i32[2]", "i32 cannot hold the number 2.5"},
        {"C2 truth", {{1}, {0}, true}, "f32[2]", "f32 cannot hold the number true"},
        {"C2 boolean", {{1}, {0}, 1}, "boolean[2]", "boolean cannot hold the number 1"},
        {"overflow", {{9223372036854775807}, {0}}, "f32[2]", "the extent of the result overflows"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/row_formula.h"
#include "tensor/visit.h"

namespace topos::ops {

/// e^(x - m) r along an axis, m the maximum, r the reciprocal of the sum s of
/// the e^(x - m), 0 where s is: one division a row, and a fully masked row
/// gives zeros.
///
///   C1          floating
///   C2          the axis exists
///   derivative  dx = y (dy - sum(dy y))
struct Softmax {
  std::int8_t axis = 0;

  static constexpr std::string_view name = "softmax";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &Softmax::axis});
  }
  bool operator==(const Softmax&) const = default;

  static Softmax make(Operands<Type> x, int axis) {
    return {axis_attribute(axis, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    floating(x[0]);                        // C1
    expect_axis(axis, x[0].shape.rank());  // C2
    return x[0];
  }

  void value(Operands<Tensor> x, Output y) const {
    visit_dtype(y.type.dtype, [&]<class T>() {
      if constexpr (Real<T>) {
        for_each_row<T>(
            x[0], y, axis,
            [](const T* in, T* out, const Layout& row, const Layout& out_row) {
              const auto [m, s] = shifted_sum(in, row);
              const T r = s == 0 ? T(0) : 1 / s;
              std::int64_t i = 0;
              for_each_position(row, [&](std::int64_t at) {
                out[i++ * out_row.strides[0]] = math::exp(in[at] - m) * r;
              });
            });
      }
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V>, const V& y, const V& dy) const {
    const V total = sum(dy * y, Axes{axis}, true);
    return {y * (dy - total)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    const LoweredRow row(out, x[0], axis);
    const stablehlo::Value one = out.full_like(row.sum, 1);
    const stablehlo::Value zero = out.full_like(row.sum, 0);
    const stablehlo::Value r = out.select(out.compare("EQ", row.sum, zero),
                                          zero, out.divide(one, row.sum));
    return out.multiply(row.exponential, row.broadcast(out, r));
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Softmax>>({
        {"halves", {1}, "f32[1, 2]{3 3}", "f32[1, 2]{0.5 0.5}"},
        {"bf16", {0}, "bf16[3]{1 2 3}", "bf16[3]{0x1.7p-4 0x1.f6p-3 0x1.54p-1}"},
        {"columns", {0}, "f64[2, 2]{1 2 1 2}", "f64[2, 2]{0.5 0.5 0.5 0.5}"},
        {"plain", {0}, "f64[3]{1 2 3}", "f64[3]{0.09003057317038046 0.24472847105479764 0.6652409557748219}"},
        {"masked", {0}, "f32[2]{-inf 7}", "f32[2]{0 1}", "f32[2]{0 0}"},
        {"all masked", {0}, "f32[2]{-inf -inf}", "f32[2]{0 0}", "f32[2]{0 0}"},
        {"huge", {0}, "f32[2]{3e38 0}", "f32[2]{1 0}", "f32[2]{0 0}"},
        {"inf", {0}, "f32[2]{inf 0}", "f32[2]{nan nan}", "skip"},
        {"NaN", {0}, "f32[2]{nan 0}", "f32[2]{nan nan}", "skip"},
        {"nothing", {1}, "f32[2, 0]{}", "f32[2, 0]{}"},
        {"no rows", {1}, "f32[0, 2]{}", "f32[0, 2]{}"},
        {"C1 integers", {0}, "i32[2]", "i32 is not floating"},
        {"C2 axis", {0}, "f32[]", "the axis 0 is not in a tensor of rank 0"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

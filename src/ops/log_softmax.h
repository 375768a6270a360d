#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/row_formula.h"
#include "tensor/visit.h"

namespace topos::ops {

/// (x - m) - ln s along an axis, m and s as in softmax; -inf where s is 0.
///
///   C1          floating
///   C2          the axis exists
///   derivative  dx = dy - softmax(x) sum(dy); none in a row of nothing but
///               -inf
struct LogSoftmax {
  std::int8_t axis = 0;

  static constexpr std::string_view name = "log_softmax";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &LogSoftmax::axis});
  }
  bool operator==(const LogSoftmax&) const = default;

  static LogSoftmax make(Operands<Type> x, int axis) {
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
              const T log = math::ln(s);
              std::int64_t i = 0;
              for_each_position(row, [&](std::int64_t at) {
                out[i++ * out_row.strides[0]] =
                    s == 0 ? -std::numeric_limits<T>::infinity()
                           : (in[at] - m) - log;
              });
            });
      }
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const Type type = x[0].type();
    if (type.shape[axis] == 0) return {dy};
    const V dead = equal(reduce_max(x[0], Axes{axis}, true),
                         -std::numeric_limits<double>::infinity());
    const V total = sum(dy, Axes{axis}, true);
    return {select(dead, 0.0, dy - softmax(x[0], axis) * total)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    const LoweredRow row(out, x[0], axis);
    const stablehlo::Value log = out.elementwise("log", {row.sum});
    const stablehlo::Value y =
        out.subtract(row.shifted, row.broadcast(out, log));
    const stablehlo::Value dead =
        out.compare("EQ", row.sum, out.full_like(row.sum, 0));
    return out.select(
        row.broadcast(out, dead),
        out.full_like(y, -std::numeric_limits<double>::infinity()), y);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<LogSoftmax>>({
        {"halves", {0}, "f64[2]{3 3}", "f64[2]{-0.6931471805599453 -0.6931471805599453}"},
        {"bf16", {0}, "bf16[3]{1 2 3}", "bf16[3]{-0x1.34p+1 -0x1.68p+0 -0x1.a2p-2}"},
        {"plain", {1}, "f64[1, 3]{1 2 3}", "f64[1, 3]{-2.40760596444438 -1.4076059644443804 -0.4076059644443803}"},
        {"columns", {0}, "f32[1, 2]{3 4}", "f32[1, 2]{0 0}"},
        {"masked", {0}, "f32[2]{-inf 7}", "f32[2]{-inf 0}", "f32[2]{1 -1}"},
        {"all masked", {0}, "f32[2]{-inf -inf}", "f32[2]{-inf -inf}", "f32[2]{0 0}"},
        {"huge", {0}, "f32[2]{3e38 0}", "f32[2]{0 -3e38}", "f32[2]{-1 1}"},
        {"NaN", {0}, "f32[2]{nan 0}", "f32[2]{nan nan}", "f32[2]{nan nan}"},
        {"nothing", {0}, "f32[0]{}", "f32[0]{}"},
        {"C1 integers", {0}, "i32[2]", "i32 is not floating"},
        {"C2 axis", {0}, "f32[]", "the axis 0 is not in a tensor of rank 0"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

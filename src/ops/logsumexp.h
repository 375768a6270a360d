#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/row_formula.h"
#include "tensor/visit.h"

namespace topos::ops {

/// ln of the sum of e^x along an axis, which it drops: m + ln s, m and s as in
/// softmax; -inf where s is 0.
///
///   C1          floating
///   C2          the axis exists
///   derivative  dx = softmax(x) dy
struct LogSumExp {
  std::int8_t axis = 0;

  static constexpr std::string_view name = "logsumexp";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &LogSumExp::axis});
  }
  bool operator==(const LogSumExp&) const = default;

  static LogSumExp make(Operands<Type> x, int axis) {
    return {axis_attribute(axis, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    floating(x[0]);                        // C1
    expect_axis(axis, x[0].shape.rank());  // C2
    return {x[0].dtype, x[0].shape.without({axis})};
  }

  void value(Operands<Tensor> x, Output y) const {
    const Split at = split(layout_of(x[0]), {axis});
    visit_dtype(y.type.dtype, [&]<class T>() {
      if constexpr (Real<T>) {
        T* out = y.as<T>();
        for_each_position(at.kept, [&](std::int64_t base) {
          const auto [m, s] =
              shifted_sum(elements_of<T>(x[0]) + base, at.reduced);
          *out++ =
              s == 0 ? -std::numeric_limits<T>::infinity() : m + math::ln(s);
        });
      }
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const Shape shape = x[0].type().shape;
    return {softmax(x[0], axis) *
            broadcast(dy, shape, other_axes({axis}, shape.rank()))};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    // The logarithm of an empty sum is -inf, as it should be.
    const LoweredRow row(out, x[0], axis);
    return out.add(row.maximum, out.elementwise("log", {row.sum}));
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<LogSumExp>>({
        {"two", {0}, "f64[2]{0 0}", "f64[]{0.6931471805599453}"},
        {"f16", {0}, "f16[3]{1 2 3}", "f16[]{0x1.b44p+1}"},
        {"plain", {1}, "f64[1, 3]{1 2 3}", "f64[1]{3.40760596444438}"},
        {"masked", {0}, "f32[2]{-inf 1}", "f32[]{1}", "f32[2]{0 1}"},
        {"all masked", {0}, "f32[2]{-inf -inf}", "f32[]{-inf}", "f32[2]{0 0}"},
        {"huge", {0}, "f32[2]{3e38 0}", "f32[]{3e38}", "f32[2]{1 0}"},
        {"nothing", {0}, "f32[0]{}", "f32[]{-inf}"},
        {"columns", {0}, "f32[1, 2]{1 2}", "f32[2]{1 2}"},
        {"C1 integers", {0}, "i32[2]", "i32 is not floating"},
        {"C2 axis", {0}, "f32[]", "the axis 0 is not in a tensor of rank 0"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

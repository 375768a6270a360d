#pragma once

#include <array>

#include "ops/operation.h"
#include "ops/reduced_sum.h"
#include "tensor/visit.h"

namespace topos::ops {

/// A mean in StableHLO: the sum divided by the count.
inline stablehlo::Value lowered_mean(stablehlo::Writer& out,
                                     const stablehlo::Value& x,
                                     const Axes& axes) {
  const stablehlo::Value sum = out.reduce(stablehlo::Reduction::add, x, axes);
  return out.divide(sum, out.full_like(sum, reduced_count(x.type.shape, axes)));
}

/// The mean over axes, which it drops.
///
///   value       the f64 sum divided by the count, rounded once; NaN of nothing
///   C1          floating
///   C2          the axes exist
///   derivative  dx = broadcast(dy / n)
struct Mean {
  Axes axes;

  static constexpr std::string_view name = "mean";
  static constexpr bool sums_in_f64 = true;
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &Mean::axes});
  }
  bool operator==(const Mean&) const = default;

  static Mean make(Operands<Type> x, const Axes& axes) {
    return {normalize_axes(axes, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    floating(x[0]);                        // C1
    expect_axes(axes, x[0].shape.rank());  // C2
    return {x[0].dtype, x[0].shape.without(axes)};
  }

  void value(Operands<Tensor> x, Output y) const {
    const Split at = split(layout_of(x[0]), axes);
    const auto n = static_cast<double>(reduced_count(x[0].shape(), axes));
    visit_dtype(y.type.dtype, [&]<class T>() {
      if constexpr (Real<T>) {
        const T* from = elements_of<T>(x[0]);
        T* out = y.as<T>();
        for_each_position(at.kept, [&](std::int64_t base) {
          *out++ = static_cast<T>(reduced_sum(from + base, at.reduced) / n);
        });
      }
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const Shape shape = x[0].type().shape;
    const std::int64_t n = reduced_count(shape, axes);
    const V each = rounded(widened(dy) / n, dy.type().dtype);
    return {broadcast(each, shape, other_axes(axes, shape.rank()))};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return lowered_mean(out, x[0], axes);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Mean>>({
        {"all", {{0, 1}}, "f32[2, 2]{1 2 3 4}", "f32[]{2.5}"},
        {"bf16", {{0}}, "bf16[3]{2 0x1p-7 0x1p-40}", "bf16[]{0x1.56p-1}", "bf16[3]{0x1.56p-2 0x1.56p-2 0x1.56p-2}"},
        {"rows", {{1}}, "f64[2, 2]{1 2 3 4}", "f64[2]{1.5 3.5}", "f64[2, 2]{0.5 0.5 0.5 0.5}"},
        {"outer axes", {{0, 2}}, "f32[2, 2, 1]{1 2 3 6}", "f32[2]{2 4}"},
        {"one rounding", {{0}}, "f32[5]{0x1p24 1 0 0 0}", "f32[]{3355443.5}", "f32[5]{0.2 0.2 0.2 0.2 0.2}"},
        {"no axis", {{}}, "f32[2]{1 -0}", "f32[2]{1 0}"},
        {"nothing", {{0}}, "f32[0]{}", "f32[]{nan}"},
        {"no rows", {{1}}, "f32[0, 2]{}", "f32[0]{}"},
        {"C1 integers", {{0}}, "i32[2]", "i32 is not floating"},
        {"C2 axis", {{1}}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

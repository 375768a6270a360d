#pragma once

#include <array>

#include "ops/mean.h"
#include "ops/operation.h"
#include "ops/reduced_sum.h"
#include "tensor/visit.h"

namespace topos::ops {

/// x minus its mean over axes.
///
///   value       f64(x) minus the unrounded f64 mean, rounded once: a mean
///               rounded to f32 first spoils the variance of shifted data
///   C1          floating
///   C2          the axes exist
///   derivative  dx = center(dy) over the same axes
struct Center {
  Axes axes;

  static constexpr std::string_view name = "center";
  static constexpr bool sums_in_f64 = true;
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axes", &Center::axes});
  }
  bool operator==(const Center&) const = default;

  static Center make(Operands<Type> x, const Axes& axes) {
    return {normalize_axes(axes, x[0].shape.rank())};
  }

  Type infer(Operands<Type> x) const {
    floating(x[0]);                        // C1
    expect_axes(axes, x[0].shape.rank());  // C2
    return x[0];
  }

  void value(Operands<Tensor> x, Output y) const {
    const Split at = split(layout_of(x[0]), axes);
    const Split to = split(Layout::row_major(x[0].shape()), axes);
    const auto n = static_cast<double>(reduced_count(x[0].shape(), axes));
    visit_dtype(y.type.dtype, [&]<class T>() {
      if constexpr (Real<T>) {
        const T* from = elements_of<T>(x[0]);
        T* out = y.as<T>();
        std::int64_t row = 0;
        for_each_position(at.kept, [&](std::int64_t base) {
          const double mean = reduced_sum(from + base, at.reduced) / n;
          const std::int64_t out_base = position_of(to.kept, row++);
          std::int64_t element = 0;
          for_each_position(at.reduced, [&](std::int64_t i) {
            out[out_base + position_of(to.reduced, element++)] =
                static_cast<T>(static_cast<double>(from[base + i]) - mean);
          });
        });
      }
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V>, const V&, const V& dy) const {
    if (axes.empty()) return {dy - dy};  // center(dy) would take all axes
    return {center(dy, axes)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.subtract(x[0], out.broadcast_back(lowered_mean(out, x[0], axes),
                                                 x[0].type.shape, axes));
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Center>>({
        {"rows", {{1}}, "f32[2, 2]{1 3 5 9}", "f32[2, 2]{-1 1 -2 2}"},
        {"f16", {{0}}, "f16[2]{1000 1001}", "f16[2]{-0.5 0.5}"},
        {"columns", {{0}}, "f32[2, 2]{1 3 5 9}", "f32[2, 2]{-2 -3 2 3}"},
        {"all", {{0, 1}}, "f64[2, 2]{1 3 5 7}", "f64[2, 2]{-3 -1 1 3}"},
        {"outer axes", {{0, 2}}, "f32[2, 2, 1]{1 2 3 6}", "f32[2, 2, 1]{-1 -2 1 2}"},
        {"large mean", {{0}}, "f32[4]{40000 40001 40002 40003}", "f32[4]{-1.5 -0.5 0.5 1.5}"},
        {"mean not rounded", {{0}}, "f32[2]{0x1p24 16777218}", "f32[2]{-1 1}"},
        {"no axis", {{}}, "f32[2]{3 -7}", "f32[2]{0 0}", "f32[2]{0 0}"},
        {"nothing", {{0}}, "f32[0]{}", "f32[0]{}"},
        {"C1 integers", {{0}}, "i32[2]", "i32 is not floating"},
        {"C2 axis", {{1}}, "f32[2]", "the axis 1 is not in a tensor of rank 1"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

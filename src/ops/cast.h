#pragma once

#include <array>
#include <limits>

#include "ops/elementwise.h"
#include "ops/operation.h"

namespace topos::ops {

/// Conversion to another dtype, element by element.
///
///   value       between floats: to nearest even. Floats to integers: truncate,
///               saturate, NaN gives 0. Integers to narrower ones wrap, to
///               floats round once. To boolean: x != 0, so NaN is true. From
///               f64 or i64 to 16 bits is one rounding, not one by way of f32
///   derivative  dx = cast(dy, x's dtype) between floats; none otherwise
struct Cast {
  DType to = f32;

  static constexpr std::string_view name = "cast";
  static constexpr int arity = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"to", &Cast::to});
  }
  bool operator==(const Cast&) const = default;

  Type infer(Operands<Type> x) const { return {to, x[0].shape}; }

  template <Element From, Element To>
  static To convert(From x) {
    if constexpr (std::same_as<From, To>) {
      return x;
    } else if constexpr (sizeof(From) == 2) {
      return convert<float, To>(x);
    } else if constexpr (std::same_as<To, bool>) {
      return x != From(0);
    } else if constexpr (Real<From> && Integer<To>) {
      // Both bounds are powers of two, so exact in From.
      constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
      if (x != x) return 0;
      if (x < low) return std::numeric_limits<To>::min();
      if (x >= -low) return std::numeric_limits<To>::max();
      return static_cast<To>(x);
    } else {
      return static_cast<To>(x);
    }
  }

  /// The loop from `from` to `to`.
  TileFunction tile(DType from) const {
    return visit_dtype(from, [this]<class From>() {
      return visit_dtype(to, []<class To>() -> TileFunction {
        return [](const void* const* x, void* y, std::size_t n) {
          const From* in = static_cast<const From*>(x[0]);
          To* out = static_cast<To*>(y);
          for (std::size_t i = 0; i < n; ++i) out[i] = convert<From, To>(in[i]);
        };
      });
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const DType from = x[0].type().dtype;
    if (!is_floating(from) || !is_floating(to)) return {std::nullopt};
    return {cast(dy, from)};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    // What is not 0 is true: NaN too.
    if (to == boolean && x[0].type.dtype != boolean) {
      return out.compare("NE", x[0], out.full_like(x[0], 0));
    }
    return out.convert(x[0], to);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Cast>>({
        {"saturates", {i32}, "f32[6]{1.9 -1.9 3e9 -3e9 nan inf}", "i32[6]{1 -1 2147483647 -2147483648 0 2147483647}", "-"},
        {"BC-25", {bf16}, "f32[6]{0x1.1399aap-2 0x1.01p+0 0x1.03p+0 0x1.fffffep+127 0x1.fefffep+127 -0}", "bf16[6]{0x1.14p-2 1 0x1.04p+0 inf 0x1.fep+127 -0}", "f32[6]{1 1 1 1 1 1}"},
        {"one rounding", {bf16}, "f64[2]{1.00390625 1.003906250001}", "bf16[2]{1 0x1.02p0}", "f64[2]{1 1}"},
        {"to f16", {f16}, "f64[6]{0.1 65519 65520 0x1p-25 0x1.8p-25 nan}", "f16[6]{0x1.998p-4 65504 inf 0 0x1p-24 nan}", "f64[6]{1 1 1 1 1 1}"},
        {"i64 to bf16", {bf16}, "i64[2]{72339069014638592 72339069014638593}", "bf16[2]{0x1p56 0x1.02p56}", "-"},
        {"widens f16", {f32}, "f16[3]{0x1p-24 65504 -0}", "f32[3]{0x1p-24 65504 -0}", "f16[3]{1 1 1}"},
        {"bf16 to i32", {i32}, "bf16[3]{2.5 -1e10 nan}", "i32[3]{2 -2147483648 0}", "-"},
        {"f16 to boolean", {boolean}, "f16[3]{0x1p-24 -0 nan}", "boolean[3]{1 0 1}", "-"},
        {"bf16 to f16", {f16}, "bf16[3]{1e-7 1e6 0x1.02p0}", "f16[3]{0x1p-23 inf 0x1.02p0}", "bf16[3]{1 1 1}"},
        {"saturates i64", {i64}, "f64[4]{0x1p63 -0x1p63 0x1.fffffffffffffp62 -inf}", "i64[4]{9223372036854775807 -9223372036854775808 9223372036854774784 -9223372036854775808}", "-"},
        {"rounds", {f32}, "f64[2]{0.1 1e300}", "f32[2]{0x1.99999ap-4 inf}", "f64[2]{1 1}"},
        {"to even", {f32}, "f64[2]{0x1.000001p0 0x1.000003p0}", "f32[2]{1 0x1.000004p0}", "f64[2]{1 1}"},
        {"subnormal", {f32}, "f64[2]{0x1.8p-149 0x1p-150}", "f32[2]{0x1p-148 0}", "f64[2]{1 1}"},
        {"from i64", {f32}, "i64[]{16777217}", "f32[]{16777216}", "-"},
        {"wraps", {i32}, "i64[]{4294967297}", "i32[]{1}", "-"},
        {"widens", {i64}, "i32[]{-7}", "i64[]{-7}", "-"},
        {"to boolean", {boolean}, "f32[4]{0 -0 nan 0.5}", "boolean[4]{0 0 1 1}", "-"},
        {"from boolean", {f32}, "boolean[2]{0 1}", "f32[2]{0 1}", "-"},
        {"to f64", {f64}, "f32[]{0.1}", "f64[]{0x1.99999ap-4}"},
        {"nothing", {f32}, "f32[3]{-0 nan inf}", "f32[3]{-0 nan inf}", "f32[3]{1 1 1}"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

#pragma once

#include <array>

#include "math/elementary.h"
#include "ops/operation.h"

namespace topos::ops {

/// The error function in StableHLO, which has none. f32: the rational minimax
/// approximation in x^2 that Eigen and XLA have, within 6 ulp. It grows beyond
/// 1 before 4, so it ends there and is cut at 1. f64: those of [Cephes,
/// ndtr.c], x P(x^2)/Q(x^2) up to 1 and the complement e^(-x^2) P(|x|)/Q(|x|)
/// above.
inline stablehlo::Value lowered_erf(stablehlo::Writer& out,
                                    const stablehlo::Value& x) {
  const auto polynomial = [&](const stablehlo::Value& at,
                              std::initializer_list<double> coefficients) {
    auto next = coefficients.begin();
    stablehlo::Value y = out.full_like(at, *next++);
    while (next != coefficients.end()) {
      y = out.add(out.multiply(y, at), out.full_like(at, *next++));
    }
    return y;
  };
  if (x.type.dtype != f64) {
    const auto clamp = [&](const stablehlo::Value& at, double limit) {
      return out.elementwise(
          "clamp", {out.full_like(x, -limit), at, out.full_like(x, limit)});
    };
    const stablehlo::Value inside = clamp(x, 4);
    const stablehlo::Value square = out.multiply(inside, inside);
    return clamp(
        out.divide(
            out.multiply(
                inside,
                polynomial(square, {0.00022905065861350646,
                                    0.0034082910107109506, 0.050955695062380861,
                                    0.18520832239976145, 1.128379143519084})),
            polynomial(square,
                       {-1.1791602954361697e-7, 0.000023547966471313185,
                        0.0010179625278914885, 0.014070470171167667,
                        0.11098505178285362, 0.49746925110067538, 1.0})),
        1);
  }
  const stablehlo::Value square = out.multiply(x, x);
  const stablehlo::Value small = out.divide(
      out.multiply(
          x, polynomial(square, {9.60497373987051638749, 90.0260197203842689217,
                                 2232.00534594684319226, 7003.32514112805075473,
                                 55592.3013010394962768})),
      polynomial(square, {1.0, 33.5617141647503099647, 521.357949780152679795,
                          4594.32382970980127987, 22629.0000613890934246,
                          49267.3942608635921086}));
  // erf(6) rounds to 1.
  const stablehlo::Value magnitude = out.elementwise(
      "minimum", {out.elementwise("abs", {x}), out.full_like(x, 6)});
  const stablehlo::Value complement = out.divide(
      out.multiply(
          out.elementwise("exponential",
                          {out.elementwise(
                              "negate", {out.multiply(magnitude, magnitude)})}),
          polynomial(magnitude,
                     {2.46196981473530512524e-10, 0.564189564831068821977,
                      7.46321056442269912687, 48.6371970985681366614,
                      196.520832956077098242, 526.445194995477358631,
                      934.528527171957607540, 1027.55188689515710272,
                      557.535335369399327526})),
      polynomial(magnitude,
                 {1.0, 13.2281951154744992508, 86.7072140885989742329,
                  354.937778887819891062, 975.708501743205489753,
                  1823.90916687909736289, 2246.33760818710981792,
                  1656.66309194161350182, 557.535340817727675546}));
  const stablehlo::Value one = out.full_like(x, 1);
  const stablehlo::Value large =
      out.multiply(out.elementwise("sign", {x}), out.subtract(one, complement));
  return out.select(out.compare("LE", out.elementwise("abs", {x}), one), small,
                    large);
}

/// The error function 2/sqrt(pi) int_0^x e^(-t t) dt, element by element.
///
///   value       correctly rounded in f32, within 1 ulp in f64
///   derivative  dx = dy (2/sqrt(pi) e^(-mp(x, x)))            [DLMF 7.2.1];
///               a plain x x would give 0 inf at infinity in the next order
struct Erf {
  static constexpr std::string_view name = "erf";
  static constexpr int arity = 1;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Erf&) const = default;

  static Type infer(Operands<Type> x) { return floating(x[0]); }

  template <Real T>
  static T value(T x) {
    return math::erf(x);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    const V square = masked_product(x[0], x[0]);
    return {dy * (1.1283791670955126 * exp(-square))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    return lowered_erf(out, x[0]);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Erf>>({
        {"zeros", {}, "f32[2]{0 -0}", "f32[2]{0 -0}"},
        {"bf16", {}, "bf16[3]{0x1p-1 -0x1.34p+0 0x1.48p-7}", "bf16[3]{0x1.0ap-1 -0x1.d2p-1 0x1.72p-7}"},
        {"f16", {}, "f16[3]{0x1p-1 -0x1.334p+0 0x1.47cp-7}", "f16[3]{0x1.0a8p-1 -0x1.d2p-1 0x1.71cp-7}"},
        {"plain", {}, "f32[2]{0.3 -1.9}", "f32[2]{0x1.50838ap-2 -0x1.fc4f06p-1}"},
        {"f64", {}, "f64[2]{1 0.3}", "f64[2]{0.8427007929497149 0.3286267594591274}"},
        {"ends", {}, "f32[3]{inf -inf nan}", "f32[3]{1 -1 nan}", "f32[3]{0 0 nan}"},
        {"integers", {}, "i32[2]", "i32 is not floating"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops

// tanh and logistic.

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"
#include "math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sigmoids.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/exp2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

#if TOPOS_VECTOR_DOUBLES
namespace hn = hwy::HWY_NAMESPACE;
#endif

#if TOPOS_FLOAT_PAIRS
/// e^(scale x) = power e^(scale r + 2 s), power a multiple of 2^-22 of its
/// leading bit: |scale r| < ln2 / 64 as in Exp::quick, |s| < 2^-23.
struct FloatSplitExp {
  FloatVector power;
  FloatVector r;
  FloatVector s;
};

template <int scale>
HWY_INLINE FloatSplitExp float_split_exp(FloatVector x) {
  const FloatTag d;
  const IntTag di;
  const auto shift = float_constant(0x1.8p23f);
  const auto shifted =
      hn::MulAdd(x, float_constant(scale * 0x1.715476p+5f), shift);
  const auto n = hn::Sub(shifted, shift);
  const Lookup32 at(shifted);
  const auto power = hn::Add(hn::BitCast(di, at(exp2_32_even)),
                             hn::ShiftLeft<18>(hn::BitCast(di, shifted)));
  return {
      hn::BitCast(d, power),
      hn::NegMulAdd(n, float_constant(0x1.62e430p-6f / scale), x),
      hn::MulAdd(n, float_constant(0x1.05c610p-35f), at(exp2_32_even_rest))};
}

/// a / b, each within some share of itself; open where they are off by as much
/// as `error` together and that might matter, and where one is a NaN.
/// \param inverse  1 / b as a float
HWY_INLINE FloatVector rounded_quotient(FloatPair a, FloatPair b,
                                        FloatVector inverse, float error,
                                        FloatMask& is_open) {
  const auto y = hn::Mul(a.high, inverse);
  const auto rest =
      hn::Add(hn::NegMulAdd(y, b.high, a.high), hn::NegMulAdd(y, b.low, a.low));
  const auto margin = float_constant(error);
  const auto greatest =
      hn::MulAdd(hn::MulAdd(a.high, margin, rest), inverse, y);
  const auto least =
      hn::MulAdd(hn::NegMulAdd(a.high, margin, rest), inverse, y);
  is_open = hn::Not(hn::Eq(greatest, least));
  return greatest;
}
#endif

/// (e^2x - 1) / (e^2x - 1 + 2) for x >= 0 [DLMF 4.28.2], odd: within 2^-42.7,
/// as e^2x - 1 is within 2^-42.8.
struct Tanh : SettlesNothing {
  static float scalar(float x) { return math::tanh(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    const FloatTag df;
    const IntTag di;
    // From 9.02 on the result rounds to 1. As integers, so that a NaN becomes a
    // number, as the quotient wants.
    const Room magnitude = magnitude_bits(x);
    const auto ten = hn::BitCast(di, hn::Set(df, 10.0f));
    const DoublePair wide = promoted(hn::BitCast(df, hn::Min(magnitude, ten)));
    const auto two = constant(2.0);
    const auto low = short_expm1<2>(wide.low);
    const auto high = short_expm1<2>(wide.high);
    const FloatVector y = rounded(
        quotient({low, high}, {hn::Add(low, two), hn::Add(high, two)}), room);
    const auto beyond = hn::Set(di, 0x7f800001);  // NaN
    room = hn::Min(room, hn::Sub(beyond, magnitude));
    return hn::CopySign(y, x);
  }
#endif

#if TOPOS_FLOAT_PAIRS
  /// tanh x = (q - 1 + (q + 1) t) / (q + 1 + (q - 1) t) for e^2x = q e^2r and
  /// t = tanh r, by pairs, within 2^-38: up to 2^23, q is such that both sums
  /// are floats, and what t adds to r is below 2^-23.
  static HWY_INLINE FloatVector quick(FloatVector x, FloatMask& is_open) {
    const FloatVector magnitude = hn::Abs(x);
    // From 8.65 on the result is 1 - 2^-24, then 1. The minimum with a NaN is
    // the second operand.
    const auto e =
        float_split_exp<2>(hn::Min(float_constant(8.65f), magnitude));
    const auto square = hn::Mul(e.r, e.r);
    const auto ratio = hn::MulAdd(square, float_constant(tanh_remainder[1]),
                                  float_constant(tanh_remainder[0]));
    const auto t = hn::MulAdd(square, hn::MulSub(e.r, ratio, e.s), e.s);
    const auto one = float_constant(1.0f);
    // Where q + 1 is no longer a float, they still differ by 2.
    const auto more = hn::Add(e.power, one);
    const auto less = hn::Sub(more, float_constant(2.0f));
    FloatPair a = multiply_add_pair(more, e.r, less);
    FloatPair b = multiply_add_pair(less, e.r, more);
    a.low = hn::MulAdd(more, t, a.low);
    b.low = hn::MulAdd(less, t, b.low);
    const auto y =
        rounded_quotient(a, b, hn::Div(one, b.high), 0x1p-37f, is_open);
    const auto is_one = hn::Ge(magnitude, float_constant(0x1.205968p+3f));
    return hn::CopySign(hn::IfThenElse(is_one, one, y), x);
  }
#endif
};

/// 1 / (1 + e^-x) within 2^-43.9, as e^-x is within 2^-44.
struct Logistic {
  static float scalar(float x) { return math::logistic(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    const FloatTag d;
    // Below -87 results are subnormal. A NaN becomes a number, as the quotient
    // wants.
    const Room magnitude = magnitude_bits(x);
    const auto end = hn::BitCast(IntTag(), hn::Set(d, 87.0f));
    const FloatVector clamped =
        hn::CopySign(hn::BitCast(d, hn::Min(magnitude, end)), x);
    const DoublePair wide = promoted(clamped);
    const auto one = constant(1.0);
    const FloatVector y =
        rounded(quotient({one, one}, {hn::Add(short_exp<-1>(wide.low), one),
                                      hn::Add(short_exp<-1>(wide.high), one)}),
                room);
    limit_magnitude(magnitude, 87.0f, room);
    return y;
  }

#if TOPOS_FLOAT_PAIRS
  /// For e = e^|x|, 1 / (1 + e) or e / (1 + e), with e as in Exp::quick.
  static HWY_INLINE FloatVector quick(FloatVector x, FloatMask& is_open) {
    const FloatTag d;
    // From 87 on the result is 1. The minimum with a NaN is the second operand.
    const auto e =
        float_split_exp<1>(hn::Min(float_constant(87.0f), hn::Abs(x)));
    const auto s = hn::Add(e.s, e.s);
    auto p = hn::MulAdd(e.r, float_constant(exp_remainder[2]),
                        float_constant(exp_remainder[1]));
    p = hn::MulAdd(p, e.r, float_constant(exp_remainder[0]));
    p = hn::MulAdd(hn::MulAdd(p, e.r, s), e.r, s);
    FloatPair a = multiply_add_pair(e.power, e.r, e.power);
    a.low = hn::MulAdd(e.power, p, a.low);
    const auto one = float_constant(1.0f);
    // What low parts there are is up to 2^-14: the inverse is that of both.
    const auto sum = hn::Add(a.high, one);
    const FloatPair b = {sum,
                         hn::Add(hn::Add(hn::Sub(a.high, sum), one), a.low)};
    const auto is_negative = hn::Lt(x, hn::Zero(d));
    a.high = hn::IfThenElse(is_negative, one, a.high);
    a.low = hn::IfThenZeroElse(is_negative, a.low);
    const auto y = rounded_quotient(a, b, hn::Div(one, hn::Add(b.high, b.low)),
                                    0x1p-35f, is_open);
    is_open = hn::Or(is_open, hn::Lt(x, float_constant(-87.0f)));
    return y;
  }
#endif

  /// Far out: e^-104 is below 2^-150.
  static HWY_INLINE void settle(FloatVector x, FloatVector& y,
                                FloatMask& is_open) {
    const FloatTag d;
    const FloatMask is_zero = hn::Le(x, hn::Set(d, -104.0f));
    const FloatMask is_one = hn::Ge(x, hn::Set(d, 87.0f));
    y = hn::IfThenZeroElse(is_zero,
                           hn::IfThenElse(is_one, hn::Set(d, 1.0f), y));
    is_open = hn::AndNot(hn::Or(is_zero, is_one), is_open);
  }
#endif
};

void tanh_of(const float* x, float* y, std::size_t n) { apply<Tanh>(x, y, n); }

void logistic_of(const float* x, float* y, std::size_t n) {
  apply<Logistic>(x, y, n);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(tanh_of);
HWY_EXPORT(logistic_of);

void tanh(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(tanh_of)(x, y, n);
}

void logistic(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(logistic_of)(x, y, n);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

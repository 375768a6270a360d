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

// The exponential itself, for loops that take it on the way.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_EXP_INL_H
#undef TOPOS_KERNELS_EXP_INL_H
#else
#define TOPOS_KERNELS_EXP_INL_H
#endif

#include "kernels/exp2-inl.h"
#include "math/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

#if TOPOS_VECTOR_DOUBLES
/// Beyond, results overflow or are subnormal.
inline constexpr float exp_range = 87.0f;
#endif

struct Exp {
  static float scalar(float x) { return math::exp(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    const DoublePair wide = promoted(x);
    const FloatVector y =
        rounded({short_exp<1>(wide.low), short_exp<1>(wide.high)}, room);
    limit_magnitude(magnitude_bits(x), exp_range, room);
    return y;
  }

  /// Scores that a mask sets to -inf, and the like: e^-104 is below 2^-150.
  static HWY_INLINE void settle(FloatVector x, FloatVector& y,
                                FloatMask& is_open) {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatMask vanishes = hn::Le(x, hn::Set(FloatTag(), -104.0f));
    y = hn::IfThenZeroElse(vanishes, y);
    is_open = hn::AndNot(vanishes, is_open);
  }
#endif

#if TOPOS_FLOAT_PAIRS
  /// 2^(n/32) e^(r + s) as a sum of two floats, within 2^-35.7 of the power:
  /// r = x - n ln2/32 is a float if that constant is one; its error and the
  /// power's make s, below 2^-19. What the exponential adds to 1 + r is 2^-14
  /// at most, of which three roundings lose 2^-22.4.
  static HWY_INLINE FloatVector quick(FloatVector x, FloatMask& is_open) {
    namespace hn = hwy::HWY_NAMESPACE;
    const IntTag di;
    const auto shift = float_constant(0x1.8p23f);
    const auto shifted = hn::MulAdd(x, float_constant(0x1.715476p+5f), shift);
    const auto n = hn::Sub(shifted, shift);
    const auto r = hn::NegMulAdd(n, float_constant(0x1.62e430p-6f), x);
    const Lookup32 at(shifted);
    // It holds the margin of the test below, too.
    const auto s =
        hn::MulAdd(n, float_constant(0x1.05c610p-34f), at(exp2_32_rest));
    auto p = hn::MulAdd(r, float_constant(exp_remainder[2]),
                        float_constant(exp_remainder[1]));
    p = hn::MulAdd(p, r, float_constant(exp_remainder[0]));
    p = hn::MulAdd(hn::MulAdd(p, r, s), r, s);
    const auto power = at(exp2_32);
    const FloatPair y = multiply_add_pair(power, r, power);
    const auto above = hn::MulAdd(power, p, y.low);
    const auto below = hn::Sub(above, float_constant(4 * 0x1.4p-35f));
    const auto result = hn::Add(y.high, above);
    const auto is_far =
        hn::Gt(magnitude_bits(x), hn::BitCast(di, float_constant(exp_range)));
    is_open = hn::Or(hn::Ne(result, hn::Add(y.high, below)),
                     hn::RebindMask(FloatTag(), is_far));
    const auto k = hn::AndNot(hn::Set(di, 31), hn::BitCast(di, shifted));
    return hn::BitCast(FloatTag(),
                       hn::Add(hn::BitCast(di, result), hn::ShiftLeft<18>(k)));
  }
#endif
};

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

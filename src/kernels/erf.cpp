// The error function.

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"
#include "math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/erf.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/elementary-inl.h"
#include "kernels/polynomials.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

struct Erf {
  static float scalar(float x) { return math::erf(x); }

#if TOPOS_VECTOR_DOUBLES
  /// erf x for 0 <= x < 3.93, within 2^-43.8: erf(x) / x by polynomials around
  /// multiples of 65/256, good to 2^-44; the argument t is exact but for
  /// rounding it once. The two vectors share what they read of the tables.
  static HWY_INLINE DoublePair short_erf(DoublePair x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto shift = constant(rounding_shift);
    const auto scale = constant(256.0 / 65);
    const auto width = constant(65.0 / 256);
    const auto low = hn::MulAdd(x.low, scale, shift);
    const auto high = hn::MulAdd(x.high, scale, shift);
    const auto t_low = hn::NegMulAdd(hn::Sub(low, shift), width, x.low);
    const auto t_high = hn::NegMulAdd(hn::Sub(high, shift), width, x.high);
    const Lookup16 at_low(hn::BitCast(LongTag(), low));
    const Lookup16 at_high(hn::BitCast(LongTag(), high));
    auto y_low = at_low(erf_quotient[8]);
    auto y_high = at_high(erf_quotient[8]);
    TOPOS_UNROLL
    for (int k = 7; k >= 0; --k) {
      y_low = hn::MulAdd(y_low, t_low, at_low(erf_quotient[k]));
      y_high = hn::MulAdd(y_high, t_high, at_high(erf_quotient[k]));
    }
    return {hn::Mul(x.low, y_low), hn::Mul(x.high, y_high)};
  }

  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatTag df;
    const IntTag di;
    // From 3.92 on the result rounds to 1, as it does for this.
    const Room magnitude = magnitude_bits(x);
    const auto greatest = hn::BitCast(di, hn::Set(df, 3.93f));
    const DoublePair wide =
        promoted(hn::BitCast(df, hn::Min(magnitude, greatest)));
    const FloatVector y = rounded(short_erf(wide), room);
    // Not NaN, and not below 2^-125, where results may be subnormal.
    limit_bits<0x01000000, 0x7f800000>(magnitude, room);
    return hn::CopySign(y, x);
  }

#if TOPOS_FLOAT_PAIRS
  /// erf x by polynomials around multiples of 1/8, from which a float's
  /// distance t is a float: the coefficients of 1, t and t^2 and what becomes
  /// of them are pairs. t^3 by the rest, in floats, loses 2^-38, the
  /// polynomial 2^-39.1, and around 0 both together 2^-33.5 of the result.
  static HWY_INLINE FloatVector quick(FloatVector x, FloatMask& is_open) {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatTag d;
    const hn::RebindToUnsigned<FloatTag> du;
    const Room magnitude = magnitude_bits(x);
    const auto end = hn::BitCast(IntTag(), float_constant(3.93f));
    const auto from = hn::BitCast(d, hn::Min(magnitude, end));
    const auto shift = float_constant(0x1.8p20f);
    const auto shifted = hn::Add(from, shift);
    const auto t = hn::Sub(from, hn::Sub(shifted, shift));
    const Lookup32 at(shifted);
    auto rest = at(erf_pairs[9]);
    TOPOS_UNROLL
    for (int k = 8; k >= 6; --k) rest = hn::MulAdd(rest, t, at(erf_pairs[k]));
    const FloatPair c2 = multiply_add_pair(rest, t, at(erf_pairs[4]));
    const FloatPair c1 = multiply_add_pair(c2.high, t, at(erf_pairs[2]));
    const FloatPair c0 = multiply_add_pair(c1.high, t, at(erf_pairs[0]));
    auto low = hn::Add(c2.low, at(erf_pairs[5]));
    low = hn::MulAdd(low, t, hn::Add(c1.low, at(erf_pairs[3])));
    low = hn::MulAdd(low, t, hn::Add(c0.low, at(erf_pairs[1])));
    const auto scale = hn::Min(from, float_constant(0.125f));
    const auto margin = float_constant(0x1p-33f);
    const auto y = hn::Add(c0.high, hn::MulAdd(scale, margin, low));
    const auto other = hn::Add(c0.high, hn::NegMulAdd(scale, margin, low));
    // Where x is a NaN or so small that a part might be subnormal, too.
    constexpr std::uint32_t least = 0x20000000;
    const auto beyond =
        hn::Gt(hn::Sub(hn::BitCast(du, magnitude), hn::Set(du, least)),
               hn::Set(du, 0x7f800000 - least));
    is_open = hn::Or(hn::Ne(y, other), hn::RebindMask(d, beyond));
    return hn::CopySign(y, x);
  }
#endif

  /// Zeros are common, subnormals are not.
  static HWY_INLINE void settle(FloatVector x, FloatVector&,
                                FloatMask& is_open) {
    namespace hn = hwy::HWY_NAMESPACE;
    is_open = hn::AndNot(hn::Eq(x, hn::Zero(FloatTag())), is_open);
  }
#endif
};

void erf_of(const float* x, float* y, std::size_t n) { apply<Erf>(x, y, n); }

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(erf_of);

void erf(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(erf_of)(x, y, n);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

// ln and log1p.

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"
#include "math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/logarithms.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/elementary-inl.h"
#include "kernels/polynomials.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

#if TOPOS_VECTOR_DOUBLES
namespace hn = hwy::HWY_NAMESPACE;

/// k ln2 + ln(1 + f) within 2^-43, |f| in sqrt(1/2) - 1 to sqrt(2) - 1:
/// ln((1 + s) / (1 - s)) for s = f / (2 + f), 2^-45.1 of it lost by the
/// polynomial. Where k is 1 and f near -0.3 that is as much of the result, and
/// twice what ln2 and the product lose, 2^-53 each.
HWY_INLINE DoublePair logarithm(DoublePair k, DoublePair f) {
  const auto ln2 = constant(0x1.62e42fefa39efp-1);
  const auto two = constant(2.0);
  const DoublePair s = quotient(f, {hn::Add(f.low, two), hn::Add(f.high, two)});
  const auto low =
      hn::Mul(s.low, polynomial(atanh_quotient, hn::Mul(s.low, s.low)));
  const auto high =
      hn::Mul(s.high, polynomial(atanh_quotient, hn::Mul(s.high, s.high)));
  return {hn::MulAdd(k.low, ln2, low), hn::MulAdd(k.high, ln2, high)};
}

/// x as 2^k (1 + f).
struct SplitFloat {
  DoublePair k;
  DoublePair f;
};

/// x positive, normal, finite; of others, some k and an f in range.
HWY_INLINE SplitFloat split(FloatVector x) {
  const FloatTag df;
  const IntTag di;
  const hn::RebindToSigned<HalfFloatTag> half_int;
  const DoubleTag d;
  constexpr std::int32_t sqrt_half = 0x3f3504f3;
  const auto bits = hn::BitCast(di, x);
  const auto k = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, sqrt_half)));
  const DoublePair z =
      promoted(hn::BitCast(df, hn::Sub(bits, hn::ShiftLeft<23>(k))));
  const auto one = constant(1.0);
  return {{hn::PromoteTo(d, hn::LowerHalf(half_int, k)),
           hn::PromoteTo(d, hn::UpperHalf(half_int, k))},
          {hn::Sub(z.low, one), hn::Sub(z.high, one)}};
}

struct SplitSum {
  DoubleVector k;
  DoubleVector f;
};

/// 1 + x as 2^k (1 + f), for x > -1. Where k is 0, f is x itself; elsewhere
/// rounding the sum costs 2^-53 of 1 + f.
HWY_INLINE SplitSum split_sum(DoubleVector x) {
  const DoubleTag d;
  const LongTag di;
  const auto one = constant(1.0);
  const auto sum = hn::Add(x, one);
  const auto bits = hn::BitCast(di, sum);
  const auto offset =
      hn::Sub(bits, hn::Set(di, std::int64_t{0x3fe6a09e667f3bcd}));
  const auto exponent = hn::And(offset, hn::Set(di, -(std::int64_t{1} << 52)));
  // k + 1024, as the low bits of 2^52 + 1024 + k.
  const auto biased = hn::BitCast(
      di, hn::ShiftRight<52>(hn::BitCast(
              hn::RebindToUnsigned<LongTag>(),
              hn::Add(offset, hn::Set(di, std::int64_t{1024} << 52)))));
  const auto k = hn::Sub(
      hn::BitCast(d, hn::Or(biased, hn::Set(di, std::int64_t{0x433} << 52))),
      constant(0x1p52 + 1024));
  const auto f = hn::Sub(hn::BitCast(d, hn::Sub(bits, exponent)), one);
  return {k, hn::IfThenElse(hn::Eq(k, hn::Zero(d)), x, f)};
}
#endif

struct Ln : SettlesNothing {
  static float scalar(float x) { return math::ln(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    const SplitFloat parts = split(x);
    const FloatVector y = rounded(logarithm(parts.k, parts.f), room);
    limit_to_positive(x, room);
    return y;
  }
#endif

#if TOPOS_FLOAT_PAIRS
  /// For x = 2^k z and z c = 1 + u, c near 1 / z from a table and u a float:
  /// k ln2 - ln c, of which the high parts' sum is a float, and u - u^2 / 2,
  /// by pairs; what the rest times u^3 loses is 2^-36 of the result.
  static HWY_INLINE FloatVector quick(FloatVector x, FloatMask& is_open) {
    const FloatTag d;
    const IntTag di;
    const hn::RebindToUnsigned<FloatTag> du;
    const auto bits = hn::BitCast(di, x);
    const auto offset = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
    const auto exponent = hn::And(offset, hn::Set(di, -(1 << 23)));
    const auto k = hn::ConvertTo(d, hn::ShiftRight<23>(offset));
    const auto z = hn::BitCast(d, hn::Sub(bits, exponent));
    const Lookup32 at(hn::BitCast(d, hn::ShiftRight<18>(offset)));
    const auto u = hn::MulSub(z, at(ln_center), float_constant(1.0f));
    const auto high = hn::MulAdd(k, float_constant(0x1.62e4p-1f), at(ln_high));
    const auto low = hn::MulAdd(k, float_constant(0x1.7f7d1cp-20f), at(ln_low));
    const auto sum = hn::Add(high, u);
    const auto sum_low = hn::Add(hn::Sub(high, sum), u);
    const auto square = hn::Mul(u, u);
    const FloatPair y =
        multiply_add_pair(hn::Mul(u, float_constant(-0.5f)), u, sum);
    auto rest = hn::MulAdd(u, float_constant(ln_remainder[3]),
                           float_constant(ln_remainder[2]));
    rest = hn::MulAdd(rest, u, float_constant(ln_remainder[1]));
    rest = hn::MulAdd(rest, u, float_constant(ln_remainder[0]));
    rest = hn::MulAdd(hn::Mul(square, u), rest,
                      hn::Add(y.low, hn::Add(sum_low, low)));
    const auto margin = float_constant(0x1p-35f);
    const auto result = hn::Add(y.high, hn::MulAdd(y.high, margin, rest));
    const auto other = hn::Add(y.high, hn::NegMulAdd(y.high, margin, rest));
    // Where x is not positive, normal and finite, too.
    constexpr std::uint32_t least = 0x00800000;
    const auto beyond = hn::Gt(hn::Sub(hn::BitCast(du, x), hn::Set(du, least)),
                               hn::Set(du, 0x7f7fffff - least));
    is_open = hn::Or(hn::Ne(result, other), hn::RebindMask(d, beyond));
    return result;
  }
#endif
};

struct Log1p : SettlesNothing {
  static float scalar(float x) { return math::log1p(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    const FloatTag d;
    const DoublePair wide = promoted(x);
    const SplitSum low = split_sum(wide.low);
    const SplitSum high = split_sum(wide.high);
    const FloatVector y =
        rounded(logarithm({low.k, high.k}, {low.f, high.f}), room);
    const FloatMask fits = hn::And(hn::Gt(x, hn::Set(d, -1.0f)),
                                   hn::Le(x, hn::Set(d, 0x1.fffffep127f)));
    room = hn::IfThenElseZero(hn::RebindMask(IntTag(), fits), room);
    return hn::CopySign(y, x);  // of -0, too
  }
#endif
};

void ln_of(const float* x, float* y, std::size_t n) { apply<Ln>(x, y, n); }

void log1p_of(const float* x, float* y, std::size_t n) {
  apply<Log1p>(x, y, n);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(ln_of);
HWY_EXPORT(log1p_of);

void ln(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(ln_of)(x, y, n);
}

void log1p(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(log1p_of)(x, y, n);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

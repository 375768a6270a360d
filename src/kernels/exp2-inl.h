// The exponential as exp, expm1, tanh and logistic need it.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_EXP2_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_EXP2_INL_H
#undef TOPOS_KERNELS_EXP2_INL_H
#else
#define TOPOS_KERNELS_EXP2_INL_H
#endif

#include "kernels/elementary-inl.h"
#include "kernels/polynomials.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

#if TOPOS_VECTOR_DOUBLES

/// e^(scale x) = power (1 + t).
struct SplitExp {
  DoubleVector power;
  DoubleVector t;
};

#if HWY_TARGET == HWY_AVX3
// A table costs less than the longer polynomial that does without.
inline constexpr int exp_steps = 16;
inline constexpr const auto& exp_quotient = exp2_16_quotient;
inline constexpr const auto& expm1_quotient = exp2_16_quotient_longer;
#else
inline constexpr int exp_steps = 1;
inline constexpr const auto& exp_quotient = exp2_quotient;
inline constexpr const auto& expm1_quotient = exp2_quotient;
#endif

/// power = 2^(n / steps) and 1 + t = 2^(r / steps), where n + r is
/// steps scale x / ln2 and |r| <= 1/2; |scale x| < 128 ln2. In units of x, r is
/// off by 2^-53 of itself where n is 0; else the constant, good to 2^-56, makes
/// it 2^-49.5, and without fma the product's rounding 2^-47.5 more.
template <int scale, std::size_t terms>
HWY_INLINE SplitExp split_exp(DoubleVector x, const double (&quotient)[terms]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const LongTag di;
  const auto factor = constant(exp_steps * scale * 0x1.71547652b82fep+0);
  const auto shift = constant(rounding_shift);
  const auto shifted = hn::MulAdd(x, factor, shift);
  const auto r = hn::MulSub(x, factor, hn::Sub(shifted, shift));
  const auto n = hn::BitCast(di, shifted);
#if HWY_TARGET == HWY_AVX3
  const auto entry = hn::BitCast(di, Lookup16(n)(exp2_16));
  const auto power = hn::Add(entry, hn::ShiftLeft<48>(n));
#else
  const auto power =
      hn::Add(hn::BitCast(di, constant(1.0)), hn::ShiftLeft<52>(n));
#endif
  return {hn::BitCast(DoubleTag(), power), hn::Mul(r, polynomial(quotient, r))};
}

/// e^(scale x) within 2^-44. By steps of 1, the polynomial is off by 2^-43.4 of
/// t, which is 0.42 (1 + t) at most; by steps of 1/16, 2^-41.1 and 0.022.
template <int scale>
HWY_INLINE DoubleVector short_exp(DoubleVector x) {
  const SplitExp e = split_exp<scale>(x, exp_quotient);
  return hwy::HWY_NAMESPACE::MulAdd(e.power, e.t, e.power);
}

/// e^(scale x) - 1 within 2^-42.8. By steps of 1, where n is 1 and r near -1/2,
/// 2 t is 1.42 times the result, 1 + 2 t, and elsewhere less. By steps of 1/16,
/// the polynomial is good to 2^-50, and the power's rounding, 2^-54, to 2^-48
/// of the least result.
template <int scale>
HWY_INLINE DoubleVector short_expm1(DoubleVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const SplitExp e = split_exp<scale>(x, expm1_quotient);
  return hn::MulAdd(e.power, e.t, hn::Sub(e.power, constant(1.0)));
}

#endif

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

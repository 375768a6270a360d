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

/// e^(scale x) = 2^n (1 + r q), n + r = scale x / ln2, q = (2^r - 1) / r.
struct SplitExp {
  LongVector n;  // times 2^52, to be added to an exponent
  DoubleVector r;
  DoubleVector q;
};

/// |scale x| < 128 ln2. r is off by 2^-53 of itself where n is 0; else the
/// constant, good to 2^-56, makes it 2^-49, and without fma the product's
/// rounding 2^-47 more. The polynomial is good to 2^-43.4 of q.
template <int scale>
HWY_INLINE SplitExp split_exp(DoubleVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto factor = constant(scale * 0x1.71547652b82fep+0);
  const auto shift = constant(rounding_shift);
  const auto shifted = hn::MulAdd(x, factor, shift);
  const auto r = hn::MulSub(x, factor, hn::Sub(shifted, shift));
  return {hn::ShiftLeft<52>(hn::BitCast(LongTag(), shifted)), r,
          polynomial(exp2_quotient, r)};
}

/// e^(scale x) within 2^-44: r q is 0.42 (1 + r q) at most, so that its error
/// is 2^-44.6, and that of r, times ln2, 2^-47.2.
template <int scale>
HWY_INLINE DoubleVector short_exp(DoubleVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const SplitExp e = split_exp<scale>(x);
  const auto significand =
      hn::BitCast(LongTag(), hn::MulAdd(e.r, e.q, constant(1.0)));
  return hn::BitCast(DoubleTag(), hn::Add(significand, e.n));
}

/// e^(scale x) - 1 within 2^-42.8: where n is 1 and r near -1/2, 2 r q is 1.42
/// times the result, 1 + 2 r q. Elsewhere it is less.
template <int scale>
HWY_INLINE DoubleVector short_expm1(DoubleVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const SplitExp e = split_exp<scale>(x);
  const auto one = constant(1.0);
  const auto power =
      hn::BitCast(DoubleTag(), hn::Add(hn::BitCast(LongTag(), one), e.n));
  return hn::MulAdd(power, hn::Mul(e.r, e.q), hn::Sub(power, one));
}

#endif

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

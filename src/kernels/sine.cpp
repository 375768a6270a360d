// sin and cos.

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"
#include "math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sine.cpp"
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

// With fma, each of two steps rounds once, and pi ends at 2^-106; without,
// products with the first two of three parts, of 33 bits, are exact.
#if HWY_NATIVE_FMA
inline constexpr double pi_parts[] = {0x1.921fb54442d18p+1,
                                      0x1.1a62633145c07p-53};
#else
inline constexpr double pi_parts[] = {
    0x1.921fb54400000p+1, 0x1.0b4611a600000p-33, 0x1.3198a2e037073p-68};
#endif

/// sin(x + quarters pi / 2) for |x| < 2^20 and quarters 0 or 1, within 2^-43.5:
/// with x = (n - quarters / 2) pi + r, |r| <= pi / 2, it is (-1)^n sin r. n has
/// 19 bits, no float comes closer than 2^-31 to a zero, and so r is good to
/// 2^-52 of itself; the polynomial to 2^-43.6.
template <int quarters>
HWY_INLINE DoubleVector short_sine(DoubleVector x) {
  const auto shift = constant(rounding_shift);
  const auto half = constant(0.5);
  const auto inverse = constant(0x1.45f306dc9c883p-2);  // 1 / pi
  DoubleVector shifted;
  DoubleVector multiple;
  if constexpr (quarters == 0) {
    shifted = hn::MulAdd(x, inverse, shift);
    multiple = hn::Sub(shifted, shift);
  } else {
    shifted = hn::Add(hn::MulAdd(x, inverse, half), shift);
    multiple = hn::Sub(hn::Sub(shifted, shift), half);
  }
  DoubleVector r = x;
  TOPOS_UNROLL
  for (const double part : pi_parts) {
    r = hn::NegMulAdd(multiple, constant(part), r);
  }
  const auto y = hn::Mul(r, polynomial(sine_quotient, hn::Mul(r, r)));
  const auto sign = hn::ShiftLeft<63>(hn::BitCast(LongTag(), shifted));
  return hn::Xor(y, hn::BitCast(DoubleTag(), sign));
}

template <int quarters>
HWY_INLINE FloatVector sine(FloatVector x, Room& room) {
  const DoublePair wide = promoted(x);
  const FloatVector y = rounded(
      {short_sine<quarters>(wide.low), short_sine<quarters>(wide.high)}, room);
  limit_magnitude(magnitude_bits(x), 0x1p20f, room);
  return y;
}
#endif

struct Sin : SettlesNothing {
  static float scalar(float x) { return math::sin(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    return sine<0>(x, room);
  }
#endif
};

struct Cos : SettlesNothing {
  static float scalar(float x) { return math::cos(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    return sine<1>(x, room);
  }
#endif
};

void sin_of(const float* x, float* y, std::size_t n) { apply<Sin>(x, y, n); }

void cos_of(const float* x, float* y, std::size_t n) { apply<Cos>(x, y, n); }

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(sin_of);
HWY_EXPORT(cos_of);

void sin(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(sin_of)(x, y, n);
}

void cos(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(cos_of)(x, y, n);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

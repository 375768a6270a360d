// x^(-1/2).

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"
#include "math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rsqrt.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

struct Rsqrt : SettlesNothing {
  static float scalar(float x) { return math::rsqrt(x); }

#if TOPOS_VECTOR_DOUBLES
  /// x^(-1/2) = y (1 - e)^(-1/2) for e = 1 - x y^2: the series ends with
  /// 35/128 e^4, and what follows, e^5 / 4, is below 2^-51 as |e| < 2^-9.9.
  static HWY_INLINE DoubleVector improved(DoubleVector x, DoubleVector y) {
    namespace hn = hwy::HWY_NAMESPACE;
    constexpr double series[] = {0.5, 0.375, 0.3125, 0.2734375};
    const auto e = hn::NegMulAdd(hn::Mul(x, y), y, constant(1.0));
    return hn::MulAdd(hn::Mul(y, e), polynomial(series, e), y);
  }

  static HWY_INLINE FloatVector evaluate(FloatVector x, FloatMask& is_open) {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatTag d;
#if HWY_ARCH_X86
    // Within 2^-11.4, 2^-14 with AVX-512; which bits, depends on the maker.
    const FloatVector estimate = hn::ApproximateReciprocalSqrt(x);
#else
    const FloatVector estimate = hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x));
#endif
    const DoublePair wide = promoted(x);
    const DoublePair y = promoted(estimate);
    const FloatVector result = rounded(
        {improved(wide.low, y.low), improved(wide.high, y.high)}, is_open);
    const FloatMask fits = hn::And(hn::Ge(x, hn::Set(d, 0x1p-126f)),
                                   hn::Le(x, hn::Set(d, 0x1.fffffep127f)));
    is_open = hn::Or(is_open, hn::Not(fits));
    return result;
  }
#endif
};

void rsqrt_of(const float* x, float* y, std::size_t n) {
  apply<Rsqrt>(x, y, n);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(rsqrt_of);

void rsqrt(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(rsqrt_of)(x, y, n);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

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
#if HWY_TARGET == HWY_AVX3
  static HWY_INLINE DoublePair estimate(FloatVector, DoublePair x) {
    return {DoubleVector{_mm512_rsqrt14_pd(x.low.raw)}, DoubleVector {
              _mm512_rsqrt14_pd(x.high.raw)
            }};
  }
#elif HWY_ARCH_X86
  static HWY_INLINE DoublePair estimate(FloatVector x, DoublePair) {
    return promoted(hwy::HWY_NAMESPACE::ApproximateReciprocalSqrt(x));
  }
#else
  static HWY_INLINE DoublePair estimate(FloatVector x, DoublePair) {
    namespace hn = hwy::HWY_NAMESPACE;
    return promoted(hn::Div(hn::Set(FloatTag(), 1.0f), hn::Sqrt(x)));
  }
#endif

  /// x^(-1/2) = y (1 - e)^(-1/2) for e = 1 - x y^2. AVX-512 gives y within
  /// 2^-14, so that 35/128 e^4 is below 2^-53; elsewhere y is within 2^-11.4,
  /// which leaves e^5 / 4, below 2^-53, too.
  static HWY_INLINE DoubleVector improved(DoubleVector x, DoubleVector y) {
    namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_AVX3
    constexpr double series[] = {0.5, 0.375, 0.3125};
#else
    constexpr double series[] = {0.5, 0.375, 0.3125, 0.2734375};
#endif
    const auto e = hn::NegMulAdd(hn::Mul(x, y), y, constant(1.0));
    return hn::MulAdd(hn::Mul(y, e), polynomial(series, e), y);
  }

  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    const DoublePair wide = promoted(x);
    const DoublePair y = estimate(x, wide);
    const FloatVector result =
        rounded({improved(wide.low, y.low), improved(wide.high, y.high)}, room);
    limit_to_positive(x, room);
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

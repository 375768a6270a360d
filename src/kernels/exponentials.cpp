// exp and expm1.

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"
#include "math/elementary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exponentials.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

#if TOPOS_VECTOR_DOUBLES
namespace hn = hwy::HWY_NAMESPACE;
#endif

struct Expm1 {
  static float scalar(float x) { return math::expm1(x); }

#if TOPOS_VECTOR_DOUBLES
  static HWY_INLINE FloatVector evaluate(FloatVector x, Room& room) {
    const DoublePair wide = promoted(x);
    const FloatVector y =
        rounded({short_expm1<1>(wide.low), short_expm1<1>(wide.high)}, room);
    limit_magnitude(magnitude_bits(x), exp_range, room);
    return hn::CopySign(y, x);  // of -0, too
  }

  /// Far out: from -17.4 on the result rounds to -1.
  static HWY_INLINE void settle(FloatVector x, FloatVector& y,
                                FloatMask& is_open) {
    const FloatTag d;
    const FloatMask is_least = hn::Le(x, hn::Set(d, -exp_range));
    y = hn::IfThenElse(is_least, hn::Set(d, -1.0f), y);
    is_open = hn::AndNot(is_least, is_open);
  }
#endif
};

void exp_of(const float* x, float* y, std::size_t n) { apply<Exp>(x, y, n); }

void expm1_of(const float* x, float* y, std::size_t n) {
  apply<Expm1>(x, y, n);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(exp_of);
HWY_EXPORT(expm1_of);

void exp(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(exp_of)(x, y, n);
}

void expm1(const float* x, float* y, std::size_t n) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(expm1_of)(x, y, n);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

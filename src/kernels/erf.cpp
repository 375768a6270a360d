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

#if TOPOS_VECTOR_DOUBLES
/// Entries of tables of 16 doubles, by the low bits of each lane.
class Lookup16 {
 public:
#if HWY_TARGET == HWY_AVX3
  HWY_INLINE explicit Lookup16(LongVector index) : index_(index) {}

  HWY_INLINE DoubleVector operator()(const double (&table)[16]) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const DoubleTag d;
    return DoubleVector{_mm512_permutex2var_pd(
        hn::Load(d, table).raw, index_.raw, hn::Load(d, table + 8).raw)};
  }
#else
  HWY_INLINE explicit Lookup16(LongVector index)
      : index_(hwy::HWY_NAMESPACE::And(
            index, hwy::HWY_NAMESPACE::Set(LongTag(), 15))) {}

  HWY_INLINE DoubleVector operator()(const double (&table)[16]) const {
    return hwy::HWY_NAMESPACE::GatherIndex(DoubleTag(), table, index_);
  }
#endif

 private:
  LongVector index_;
};
#endif

struct Erf {
  static float scalar(float x) { return math::erf(x); }

#if TOPOS_VECTOR_DOUBLES
  /// erf x for 0 <= x < 3.9, within 2^-43.8: erf(x) / x by polynomials around
  /// multiples of 65/256, good to 2^-44; the argument t is exact but for
  /// rounding it once.
  static HWY_INLINE DoubleVector short_erf(DoubleVector x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto shift = constant(rounding_shift);
    const auto shifted = hn::MulAdd(x, constant(256.0 / 65), shift);
    const auto t =
        hn::NegMulAdd(hn::Sub(shifted, shift), constant(65.0 / 256), x);
    const Lookup16 at(hn::BitCast(LongTag(), shifted));
    DoubleVector sum = at(erf_quotient[8]);
    TOPOS_UNROLL
    for (int k = 7; k >= 0; --k) sum = hn::MulAdd(sum, t, at(erf_quotient[k]));
    return hn::Mul(x, sum);
  }

  static HWY_INLINE FloatVector evaluate(FloatVector x, FloatMask& is_open) {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatTag d;
    const FloatVector magnitude = hn::Abs(x);
    // From 3.92 on the result rounds to 1, as it does for this.
    const DoublePair wide = promoted(hn::Min(magnitude, hn::Set(d, 3.93f)));
    const FloatVector y =
        rounded({short_erf(wide.low), short_erf(wide.high)}, is_open);
    const FloatMask fits = hn::Ge(magnitude, hn::Set(d, 0x1p-125f));
    is_open = hn::Or(is_open, hn::Not(fits));
    return hn::CopySign(y, x);
  }

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

// What the elementary functions share: the loop over elements, the way to
// doubles and back, and the rounding test.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_ELEMENTARY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_ELEMENTARY_INL_H
#undef TOPOS_KERNELS_ELEMENTARY_INL_H
#else
#define TOPOS_KERNELS_ELEMENTARY_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/simd-inl.h"

// Targets without vectors of doubles run the scalar functions.
#undef TOPOS_VECTOR_DOUBLES
#define TOPOS_VECTOR_DOUBLES TOPOS_VECTOR_FMA

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

#if TOPOS_VECTOR_DOUBLES

using FloatTag = hwy::HWY_NAMESPACE::ScalableTag<float>;
using HalfFloatTag = hwy::HWY_NAMESPACE::Half<FloatTag>;
using IntTag = hwy::HWY_NAMESPACE::RebindToSigned<FloatTag>;
using DoubleTag = hwy::HWY_NAMESPACE::ScalableTag<double>;
using LongTag = hwy::HWY_NAMESPACE::RebindToSigned<DoubleTag>;

using FloatVector = hwy::HWY_NAMESPACE::Vec<FloatTag>;
using FloatMask = hwy::HWY_NAMESPACE::Mask<FloatTag>;
using DoubleVector = hwy::HWY_NAMESPACE::Vec<DoubleTag>;
using LongVector = hwy::HWY_NAMESPACE::Vec<LongTag>;

/// The lanes of one vector of floats.
struct DoublePair {
  DoubleVector low;
  DoubleVector high;
};

HWY_INLINE DoubleVector constant(double value) {
  return hwy::HWY_NAMESPACE::Set(DoubleTag(), value);
}

HWY_INLINE DoublePair promoted(FloatVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const HalfFloatTag half;
  return {hn::PromoteTo(DoubleTag(), hn::LowerHalf(half, x)),
          hn::PromoteTo(DoubleTag(), hn::UpperHalf(half, x))};
}

/// c[0] + c[1] x + ... + c[n - 1] x^(n - 1): even and odd powers by Horner's
/// rule each, two chains half as long as one.
template <std::size_t n>
HWY_INLINE DoubleVector polynomial(const double (&c)[n], DoubleVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  static_assert(n >= 2);
  const DoubleVector square = hn::Mul(x, x);
  DoubleVector last = constant(c[n - 1]);
  DoubleVector other = constant(c[n - 2]);
  TOPOS_UNROLL
  for (std::size_t i = n - 2; i-- > 0;) {
    const DoubleVector next = hn::MulAdd(last, square, constant(c[i]));
    last = other;
    other = next;
  }
  return hn::MulAdd(last, x, other);
}

/// a / b by one division for the two vectors: within 2^-51.  b is finite and
/// not 0, the product of its halves is in range; a lane that is not would
/// spoil its partner.
HWY_INLINE DoublePair quotient(DoublePair a, DoublePair b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto inverse = hn::Div(constant(1.0), hn::Mul(b.low, b.high));
  return {hn::Mul(hn::Mul(a.low, b.high), inverse),
          hn::Mul(hn::Mul(a.high, b.low), inverse)};
}

/// Adding this, then subtracting it, rounds |z| < 2^51 to an integer, which the
/// sum's low bits hold in between.
inline constexpr double rounding_shift = 0x1.8p52;

/// The floats nearest to y, and the lanes where another number within 2^-42 of
/// y, so 2048 units of its last place, might have another one: those whose 29
/// bits beyond a float's are as near as that to 2^28. Floats that are not
/// normal have fewer bits: there y has to be next to a float.
HWY_INLINE FloatVector rounded(DoublePair y, FloatMask& is_doubtful) {
  namespace hn = hwy::HWY_NAMESPACE;
  const FloatTag df;
  const HalfFloatTag half;
  const IntTag di;
  constexpr std::int32_t margin = 2048;
  constexpr std::int32_t midpoint = std::int32_t{1} << 28;
  const auto bits =
      hn::ConcatEven(di, hn::BitCast(di, y.high), hn::BitCast(di, y.low));
  const auto distance = hn::Add(bits, hn::Set(di, margin - midpoint));
  const auto beyond = hn::And(distance, hn::Set(di, 2 * midpoint - 2 * margin));
  is_doubtful = hn::RebindMask(df, hn::Eq(beyond, hn::Zero(di)));
  return hn::Combine(df, hn::DemoteTo(half, y.high), hn::DemoteTo(half, y.low));
}

/// The rare lanes one by one.
template <class Function>
HWY_NOINLINE FloatVector repaired(FloatVector x, FloatVector y,
                                  FloatMask is_open) {
  namespace hn = hwy::HWY_NAMESPACE;
  const FloatTag d;
  Function::settle(x, y, is_open);
  if (hn::AllFalse(d, is_open)) return y;
  HWY_ALIGN float from[hn::MaxLanes(d)];
  HWY_ALIGN float to[hn::MaxLanes(d)];
  std::uint8_t open[8] = {};
  hn::Store(x, d, from);
  hn::Store(y, d, to);
  hn::StoreMaskBits(d, is_open, open);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if ((open[i / 8] >> (i % 8) & 1) != 0) to[i] = Function::scalar(from[i]);
  }
  return hn::Load(d, to);
}

/// A function by one vector.
///
///   evaluate(x, is_open)      f(x), and where that is not certain
///   settle(x, y, is_open)     closes lanes that are rare, but not that rare
///   scalar(x)                 what defines the function
template <class Function>
HWY_INLINE FloatVector value(FloatVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  FloatMask is_open;
  const FloatVector y = Function::evaluate(x, is_open);
  if (HWY_LIKELY(hn::AllFalse(FloatTag(), is_open))) return y;
  return repaired<Function>(x, y, is_open);
}

template <class Function>
HWY_INLINE void apply(const float* x, float* y, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const FloatTag d;
  const std::size_t width = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    hn::StoreU(value<Function>(hn::LoadU(d, x + i)), d, y + i);
  }
  if (i == n) return;
  // 1 is special to none of them.
  const FloatVector rest = hn::IfThenElse(
      hn::FirstN(d, n - i), load_first(d, x + i, n - i), hn::Set(d, 1.0f));
  store_first(d, value<Function>(rest), y + i, n - i);
}

/// Functions without such lanes.
struct SettlesNothing {
  static HWY_INLINE void settle(FloatVector, FloatVector&, FloatMask&) {}
};

#else

struct SettlesNothing {};

template <class Function>
HWY_INLINE void apply(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = Function::scalar(x[i]);
}

#endif

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

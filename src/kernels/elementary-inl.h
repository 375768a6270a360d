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

// Where tables of 32 floats are in two registers, sums of two floats are
// cheaper than half as many doubles.
#undef TOPOS_FLOAT_PAIRS
#define TOPOS_FLOAT_PAIRS (HWY_TARGET == HWY_AVX3)

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

/// c[0] + c[1] x + ... + c[n - 1] x^(n - 1) by Horner's rule: many vectors are
/// under way at a time, so that fewest operations matter, not the shortest
/// chain.
template <std::size_t n>
HWY_INLINE DoubleVector polynomial(const double (&c)[n], DoubleVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  DoubleVector sum = constant(c[n - 1]);
  TOPOS_UNROLL
  for (std::size_t i = n - 1; i > 0; --i)
    sum = hn::MulAdd(sum, x, constant(c[i - 1]));
  return sum;
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

#if TOPOS_FLOAT_PAIRS
HWY_INLINE FloatVector float_constant(float value) {
  return hwy::HWY_NAMESPACE::Set(FloatTag(), value);
}

/// Entries of tables of 32 floats, by the low bits of each lane.
class Lookup32 {
 public:
  HWY_INLINE explicit Lookup32(FloatVector index)
      : index_(hwy::HWY_NAMESPACE::BitCast(IntTag(), index)) {}

  HWY_INLINE FloatVector operator()(const float (&table)[32]) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const FloatTag d;
    return FloatVector{_mm512_permutex2var_ps(
        hn::Load(d, table).raw, index_.raw, hn::Load(d, table + 16).raw)};
  }

 private:
  hwy::HWY_NAMESPACE::Vec<IntTag> index_;
};

/// a b + c as a float and what it lacks, which is a float if |a b| is below
/// |c| / 2.
struct FloatPair {
  FloatVector high;
  FloatVector low;
};

HWY_INLINE FloatPair multiply_add_pair(FloatVector a, FloatVector b,
                                       FloatVector c) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto high = hn::MulAdd(a, b, c);
  return {high, hn::MulAdd(a, b, hn::Sub(c, high))};
}
#endif

/// Adding this, then subtracting it, rounds |z| < 2^51 to an integer, which the
/// sum's low bits hold in between.
inline constexpr double rounding_shift = 0x1.8p52;

/// How far each lane is from being uncertain: not at all if 0 or less.
using Room = hwy::HWY_NAMESPACE::Vec<IntTag>;

/// The floats nearest to y. No room is left where another number within 2^-42
/// of y, so 2048 units of its last place, might have another one: where the 29
/// bits beyond a float's are as near as that to 2^28. Floats that are not
/// normal have fewer bits: there y has to be next to a float.
HWY_INLINE FloatVector rounded(DoublePair y, Room& room) {
  namespace hn = hwy::HWY_NAMESPACE;
  const HalfFloatTag half;
  const IntTag d;
  constexpr std::int32_t margin = 2048;
  constexpr std::int32_t midpoint = std::int32_t{1} << 28;
  const auto bits =
      hn::ConcatEven(d, hn::BitCast(d, y.high), hn::BitCast(d, y.low));
  const auto distance = hn::Add(bits, hn::Set(d, margin - midpoint));
  room = hn::And(distance, hn::Set(d, 2 * midpoint - 2 * margin));
  return hn::Combine(FloatTag(), hn::DemoteTo(half, y.high),
                     hn::DemoteTo(half, y.low));
}

/// |x| as an integer: ordered alike, NaN beyond infinity.
HWY_INLINE Room magnitude_bits(FloatVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::BitCast(IntTag(), hn::Abs(x));
}

/// Leaves no room unless |x| < limit, given that as magnitude_bits.
HWY_INLINE void limit_magnitude(Room bits, float limit, Room& room) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto end = hn::BitCast(IntTag(), hn::Set(FloatTag(), limit));
  room = hn::Min(room, hn::Sub(end, bits));
}

/// Leaves no room unless first <= bits <= last, 0 <= first: unless the distance
/// from the middle, modulo 2^32, is small.
template <std::int32_t first, std::int32_t last>
HWY_INLINE void limit_bits(Room bits, Room& room) {
  namespace hn = hwy::HWY_NAMESPACE;
  const IntTag d;
  constexpr std::int32_t half = (last - first) / 2;
  static_assert(first + 2 * half == last);
  const auto distance = hn::Abs(hn::Sub(bits, hn::Set(d, first + half)));
  room = hn::Min(room, hn::Sub(hn::Set(d, half + 1), distance));
}

/// Leaves no room unless x is positive, above 2^-126 and finite.
HWY_INLINE void limit_to_positive(FloatVector x, Room& room) {
  limit_bits<0x00800001, 0x7f7fffff>(hwy::HWY_NAMESPACE::BitCast(IntTag(), x),
                                     room);
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
///   evaluate(x, room)         f(x), and where that is not certain
///   quick(x, is_open)         the same at less cost, certain less often; not
///                             every function has it
///   settle(x, y, is_open)     closes lanes that are rare, but not that rare
///   scalar(x)                 what defines the function
template <class Function>
HWY_INLINE FloatVector closed(FloatVector x, FloatVector y, Room room) {
  namespace hn = hwy::HWY_NAMESPACE;
  const FloatMask is_open =
      hn::RebindMask(FloatTag(), hn::Lt(room, hn::Set(IntTag(), 1)));
  if (HWY_LIKELY(hn::AllFalse(FloatTag(), is_open))) return y;
  return repaired<Function>(x, y, is_open);
}

template <class Function>
concept HasQuick = requires(FloatVector x, FloatMask& is_open) {
  Function::quick(x, is_open);
};

/// What the quick way leaves open: one vector of some dozens.
template <class Function>
HWY_NOINLINE FloatVector reconsidered(FloatVector x, FloatVector y,
                                      FloatMask is_open) {
  namespace hn = hwy::HWY_NAMESPACE;
  Function::settle(x, y, is_open);
  if (hn::AllFalse(FloatTag(), is_open)) return y;
  Room room;
  y = Function::evaluate(x, room);
  return closed<Function>(x, y, room);
}

/// x = f(x) for two vectors, judged at once.
template <class Function>
HWY_INLINE void replace(FloatVector& x0, FloatVector& x1) {
  namespace hn = hwy::HWY_NAMESPACE;
  FloatVector y0;
  FloatVector y1;
  if constexpr (HasQuick<Function>) {
    FloatMask is_open0;
    FloatMask is_open1;
    y0 = Function::quick(x0, is_open0);
    y1 = Function::quick(x1, is_open1);
    if (HWY_UNLIKELY(!hn::AllFalse(FloatTag(), hn::Or(is_open0, is_open1)))) {
      y0 = reconsidered<Function>(x0, y0, is_open0);
      y1 = reconsidered<Function>(x1, y1, is_open1);
    }
  } else {
    Room room0;
    Room room1;
    y0 = Function::evaluate(x0, room0);
    y1 = Function::evaluate(x1, room1);
    const auto is_open = hn::Lt(hn::Min(room0, room1), hn::Set(IntTag(), 1));
    if (HWY_UNLIKELY(!hn::AllFalse(IntTag(), is_open))) {
      y0 = closed<Function>(x0, y0, room0);
      y1 = closed<Function>(x1, y1, room1);
    }
  }
  x0 = y0;
  x1 = y1;
}

template <class Function>
HWY_INLINE FloatVector value(FloatVector x) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (HasQuick<Function>) {
    FloatMask is_open;
    const FloatVector y = Function::quick(x, is_open);
    if (HWY_LIKELY(hn::AllFalse(FloatTag(), is_open))) return y;
    return reconsidered<Function>(x, y, is_open);
  } else {
    Room room;
    const FloatVector y = Function::evaluate(x, room);
    return closed<Function>(x, y, room);
  }
}

template <class Function>
HWY_INLINE void apply(const float* x, float* y, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const FloatTag d;
  const std::size_t width = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) {
    FloatVector v0 = hn::LoadU(d, x + i);
    FloatVector v1 = hn::LoadU(d, x + i + width);
    replace<Function>(v0, v1);
    hn::StoreU(v0, d, y + i);
    hn::StoreU(v1, d, y + i + width);
  }
  for (; i < n; i += width) {
    const std::size_t count = HWY_MIN(width, n - i);
    // 1 is special to none of them.
    const FloatVector rest = hn::IfThenElse(
        hn::FirstN(d, count), load_first(d, x + i, count), hn::Set(d, 1.0f));
    store_first(d, value<Function>(rest), y + i, count);
  }
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

// The greatest and the least element by IEEE 754-2019: NaN propagates,
// -0 < +0. Highway's Max and Min differ by target on both, so they decide only
// between elements that are neither.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_EXTREMES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_EXTREMES_INL_H
#undef TOPOS_KERNELS_EXTREMES_INL_H
#else
#define TOPOS_KERNELS_EXTREMES_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE::extremes {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
inline constexpr std::size_t width = hn::MaxLanes(Tag<T>());

/// The best of a vector's lanes, by `better(a, b)`. Highway's emulated target
/// starts from the least finite number, which infinities are beyond.
template <class D, class Best, class Better>
HWY_INLINE hn::TFromD<D> best_lane(D d, hn::Vec<D> v, Best best,
                                   Better better) {
#if HWY_TARGET == HWY_EMU128
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  hn::TFromD<D> result = lanes[0];
  for (const hn::TFromD<D> lane : lanes) {
    if (better(lane, result)) result = lane;
  }
  static_cast<void>(best);
  return result;
#else
  static_cast<void>(d);
  static_cast<void>(better);
  return hn::GetLane(best(v));
#endif
}

struct Greatest {
  /// What any element is at least, and the zero that wins over the other.
  template <class T>
  static constexpr T start = std::numeric_limits<T>::has_infinity
                                 ? -std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::lowest();
  template <class T>
  static constexpr T zero = T(0);
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::Max(a, b);
  }
  template <class D>
  static HWY_INLINE auto of_lanes(D d, hn::Vec<D> v) {
    return best_lane(
        d, v, [d](auto x) HWY_ATTR { return hn::MaxOfLanes(d, x); },
        [](auto a, auto b) { return a > b; });
  }
};

struct Least {
  template <class T>
  static constexpr T start = std::numeric_limits<T>::has_infinity
                                 ? std::numeric_limits<T>::infinity()
                                 : std::numeric_limits<T>::max();
  template <class T>
  static constexpr T zero = T(-0.0);
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::Min(a, b);
  }
  template <class D>
  static HWY_INLINE auto of_lanes(D d, hn::Vec<D> v) {
    return best_lane(
        d, v, [d](auto x) HWY_ATTR { return hn::MinOfLanes(d, x); },
        [](auto a, auto b) { return a < b; });
  }
};

/// Whether an element has the bits of `zero`.
template <class T>
HWY_INLINE bool has_zero(const T* x, std::size_t n, T zero) {
  const Tag<T> d;
  const hn::RebindToSigned<Tag<T>> di;
  const auto bits = hn::BitCast(di, hn::Set(d, zero));
  std::size_t i = 0;
  for (; i + width<T> <= n; i += width<T>) {
    const auto v = hn::BitCast(di, hn::LoadU(d, x + i));
    if (!hn::AllFalse(di, hn::Eq(v, bits))) return true;
  }
  for (; i < n; ++i) {
    if (x[i] == 0 && std::signbit(x[i]) == std::signbit(zero)) return true;
  }
  return false;
}

/// The best so far, and where a NaN was: a NaN takes no part in the best.
template <class Pick, class T>
class Running {
 public:
  HWY_INLINE Running()
      : best_(hn::Set(Tag<T>(), Pick::template start<T>)),
        nan_(hn::FirstN(Tag<T>(), 0)) {}

  HWY_INLINE void add(hn::Vec<Tag<T>> v) {
    best_ = Pick::of(v, best_);
    if constexpr (std::floating_point<T>) nan_ = hn::Or(nan_, hn::IsNaN(v));
  }

  HWY_INLINE void add(const Running& other) {
    best_ = Pick::of(best_, other.best_);
    if constexpr (std::floating_point<T>) nan_ = hn::Or(nan_, other.nan_);
  }

  HWY_INLINE bool has_nan() const {
    if constexpr (std::floating_point<T>) {
      return !hn::AllFalse(Tag<T>(), nan_);
    }
    return false;
  }

  HWY_INLINE T best() const { return Pick::of_lanes(Tag<T>(), best_); }

 private:
  hn::Vec<Tag<T>> best_;
  hn::Mask<Tag<T>> nan_;
};

/// The extreme of n elements that lie at x, as `running` has met them.
template <class Pick, class T>
HWY_INLINE T settled(const Running<Pick, T>& running, const T* x,
                     std::size_t n) {
  if constexpr (std::floating_point<T>) {
    if (HWY_UNLIKELY(running.has_nan())) {
      return std::numeric_limits<T>::quiet_NaN();
    }
    const T best = running.best();
    if (HWY_LIKELY(best != 0)) return best;
    constexpr T zero = Pick::template zero<T>;
    return has_zero(x, n, zero) ? zero : -zero;
  } else {
    return running.best();
  }
}

/// The extreme of n >= 1 elements.
template <class Pick, class T>
HWY_INLINE T extreme(const T* x, std::size_t n) {
  const Tag<T> d;
  constexpr std::size_t w = width<T>;
  Running<Pick, T> a;
  if (n < w) {
    a.add(hn::IfThenElse(hn::FirstN(d, n), load_first(d, x, n),
                         hn::Set(d, Pick::template start<T>)));
  } else {
    Running<Pick, T> b;
    std::size_t i = 0;
    for (; i + 2 * w <= n; i += 2 * w) {
      a.add(hn::LoadU(d, x + i));
      b.add(hn::LoadU(d, x + i + w));
    }
    if (i + w <= n) a.add(hn::LoadU(d, x + i));
    // The last vector may meet elements for the second time.
    b.add(hn::LoadU(d, x + n - w));
    a.add(b);
  }
  return settled(a, x, n);
}

}  // namespace topos::kernels::HWY_NAMESPACE::extremes
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

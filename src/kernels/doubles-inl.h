// Elements of f32 and f64 in vectors of doubles, and back with one rounding.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_DOUBLES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_DOUBLES_INL_H
#undef TOPOS_KERNELS_DOUBLES_INL_H
#else
#define TOPOS_KERNELS_DOUBLES_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/simd-inl.h"
#include "ops/sum_reference.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE::doubles {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Vector = hn::Vec<Tag>;
using Narrow = hn::Rebind<float, Tag>;
inline constexpr std::size_t width = hn::MaxLanes(Tag());

HWY_INLINE Vector load(const double* x) { return hn::LoadU(Tag(), x); }

HWY_INLINE Vector load(const float* x) {
  return hn::PromoteTo(Tag(), hn::LoadU(Narrow(), x));
}

/// The first `count` <= width elements, +0 in the other lanes.
HWY_INLINE Vector load(const double* x, std::size_t count) {
  return count == width ? load(x) : load_first(Tag(), x, count);
}

HWY_INLINE Vector load(const float* x, std::size_t count) {
  return count == width ? load(x)
                        : hn::PromoteTo(Tag(), load_first(Narrow(), x, count));
}

HWY_INLINE void store(Vector v, double* y, std::size_t count) {
  if (count == width) {
    hn::StoreU(v, Tag(), y);
  } else {
    store_first(Tag(), v, y, count);
  }
}

HWY_INLINE void store(Vector v, float* y, std::size_t count) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  // DemoteTo takes infinities to the greatest finite number there.
  HWY_ALIGN double lanes[width];
  hn::Store(v, Tag(), lanes);
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<float>(lanes[i]);
#else
  const auto narrow = hn::DemoteTo(Narrow(), v);
  if (count == width) {
    hn::StoreU(narrow, Narrow(), y);
  } else {
    store_first(Narrow(), narrow, y, count);
  }
#endif
}

/// The 16 lanes of a sum, over however many vectors they fill.
inline constexpr std::size_t lane_vectors = ops::sum_lanes / width;

/// The last levels of the tree: the two halves of a vector, then their halves.
template <class D>
HWY_INLINE double sum_of_halves([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return sum_of_halves(
        half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

/// The tree: across vectors first, then within the one that is left.
HWY_INLINE double sum_of_lanes(Vector (&sum)[lane_vectors]) {
  TOPOS_UNROLL
  for (std::size_t half = lane_vectors / 2; half > 0; half /= 2) {
    TOPOS_UNROLL
    for (std::size_t v = 0; v < half; ++v) {
      sum[v] = hn::Add(sum[v], sum[v + half]);
    }
  }
  return sum_of_halves(Tag(), sum[0]);
}

}  // namespace topos::kernels::HWY_NAMESPACE::doubles
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

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

}  // namespace topos::kernels::HWY_NAMESPACE::doubles
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

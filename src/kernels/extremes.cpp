// The greatest and the least of rows, and where the greatest is, compiled once
// per instruction set.

#include "kernels/rows.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/extremes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/extremes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::size_t;

template <class Pick, class T>
HWY_INLINE void extreme_of_each(const T* x, T* y, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r) {
    y[r] = extremes::extreme<Pick>(x + r * columns, columns);
  }
}

/// The first element for which `found` holds; there is one.
template <class T, class F>
HWY_INLINE size_t first_of(const T* x, size_t n, F found) {
  const extremes::Tag<T> d;
  constexpr size_t width = extremes::width<T>;
  size_t i = 0;
  for (; i + width <= n; i += width) {
    const auto mask = found(hn::LoadU(d, x + i));
    const auto at = hn::FindFirstTrue(d, mask);
    if (at >= 0) return i + static_cast<size_t>(at);
  }
  const auto mask = found(load_first(d, x + i, n - i));
  return i + static_cast<size_t>(hn::FindFirstTrue(d, mask));
}

template <class T>
HWY_INLINE void position_of_each(const T* x, std::int32_t* y, size_t rows,
                                 size_t columns) {
  for (size_t r = 0; r < rows; ++r, x += columns) {
    const T best = extremes::extreme<extremes::Greatest>(x, columns);
    size_t at = 0;
    if (best != best) {
      if constexpr (std::floating_point<T>) {
        at = first_of(x, columns, [](auto v) HWY_ATTR { return hn::IsNaN(v); });
      }
    } else {
      const auto sought = hn::Set(extremes::Tag<T>(), best);
      at = first_of(x, columns,
                    [sought](auto v) HWY_ATTR { return hn::Eq(v, sought); });
    }
    y[r] = static_cast<std::int32_t>(at);
  }
}

#define TOPOS_EXTREMES(type, T)                                    \
  void max_##type(const T* x, T* y, size_t rows, size_t columns) { \
    extreme_of_each<extremes::Greatest>(x, y, rows, columns);      \
  }                                                                \
  void min_##type(const T* x, T* y, size_t rows, size_t columns) { \
    extreme_of_each<extremes::Least>(x, y, rows, columns);         \
  }                                                                \
  void argmax_##type(const T* x, std::int32_t* y, size_t rows,     \
                     size_t columns) {                             \
    position_of_each(x, y, rows, columns);                         \
  }
TOPOS_EXTREMES(f32, float)
TOPOS_EXTREMES(f64, double)
TOPOS_EXTREMES(i32, std::int32_t)
TOPOS_EXTREMES(i64, std::int64_t)
#undef TOPOS_EXTREMES

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

// Each function for each type: exported, then dispatched to.
#define TOPOS_DISPATCH(function, name, T, R)                               \
  HWY_EXPORT(name);                                                        \
  template <>                                                              \
  void function(const T* x, R* y, std::size_t rows, std::size_t columns) { \
    apply_target_cap();                                                    \
    HWY_DYNAMIC_DISPATCH(name)(x, y, rows, columns);                       \
  }
#define TOPOS_DISPATCH_EXTREMES(type, T)        \
  TOPOS_DISPATCH(max_of_rows, max_##type, T, T) \
  TOPOS_DISPATCH(min_of_rows, min_##type, T, T) \
  TOPOS_DISPATCH(argmax_of_rows, argmax_##type, T, std::int32_t)
TOPOS_DISPATCH_EXTREMES(f32, float)
TOPOS_DISPATCH_EXTREMES(f64, double)
TOPOS_DISPATCH_EXTREMES(i32, std::int32_t)
TOPOS_DISPATCH_EXTREMES(i64, std::int64_t)
#undef TOPOS_DISPATCH_EXTREMES
#undef TOPOS_DISPATCH

}  // namespace topos::kernels

#endif  // HWY_ONCE

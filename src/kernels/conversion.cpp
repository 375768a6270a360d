// Casts.

#include "kernels/elementwise.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conversion.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

#if TOPOS_VECTORS
namespace hn = hwy::HWY_NAMESPACE;

void widen(const void* const* x, void* y, std::size_t n) {
  for_each_vector<double>(
      n, [](auto v) HWY_ATTR { return hn::PromoteTo(Tag<double>(), v); },
      Results<double>(y), Operand<double, false, float>(x[0]));
}

void narrow(const void* const* x, void* y, std::size_t n) {
  for_each_vector<double>(
      n,
      [](auto v) HWY_ATTR {
        return hn::DemoteTo(hn::Rebind<float, Tag<double>>(), v);
      },
      Results<float>(y), Operand<double, false>(x[0]));
}

void int_to_float(const void* const* x, void* y, std::size_t n) {
  for_each_vector<float>(
      n, [](auto v) HWY_ATTR { return hn::ConvertTo(Tag<float>(), v); },
      Results<float>(y), Operand<float, false, std::int32_t>(x[0]));
}

void int_to_double(const void* const* x, void* y, std::size_t n) {
  for_each_vector<double>(
      n, [](auto v) HWY_ATTR { return hn::PromoteTo(Tag<double>(), v); },
      Results<double>(y), Operand<double, false, std::int32_t>(x[0]));
}

template <class T>
void bool_to(const void* const* x, void* y, std::size_t n) {
  for_each_vector<T>(
      n,
      [](auto mask) HWY_ATTR {
        return hn::IfThenElseZero(mask, hn::Set(Tag<T>(), T{1}));
      },
      Results<T>(y), MaskOperand<T>(x[0]));
}
#endif

ElementwiseFunction find_conversion([[maybe_unused]] Number from,
                                    [[maybe_unused]] Number to) {
#if TOPOS_VECTORS
  using enum Number;
  if (from == f32 && to == f64) return widen;
  if (from == f64 && to == f32) return narrow;
  if (from == i32 && to == f32) return int_to_float;
  if (from == i32 && to == f64) return int_to_double;
#endif
  return nullptr;
}

ElementwiseFunction find_conversion_of_bool([[maybe_unused]] Number to) {
#if TOPOS_VECTORS
  switch (to) {
    case Number::f32:
      return bool_to<float>;
    case Number::f64:
      return bool_to<double>;
    case Number::i32:
      return bool_to<std::int32_t>;
  }
#endif
  return nullptr;
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(find_conversion);
HWY_EXPORT(find_conversion_of_bool);

ElementwiseFunction conversion_function(Number from, Number to) {
  apply_target_cap();
  return HWY_DYNAMIC_DISPATCH(find_conversion)(from, to);
}

ElementwiseFunction conversion_function(Number to) {
  apply_target_cap();
  return HWY_DYNAMIC_DISPATCH(find_conversion_of_bool)(to);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

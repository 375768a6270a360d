// Sums, products and their like, element by element.

#include "kernels/elementwise.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/arithmetic-inl.h"
#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

#if TOPOS_VECTORS
namespace hn = hwy::HWY_NAMESPACE;

template <class Op, class T>
void unary(const void* const* x, void* y, std::size_t n) {
  for_each_vector<T>(
      n, [](auto a) HWY_ATTR { return Op::of(a); }, Results<T>(y),
      Operand<T, false>(x[0]));
}

template <class Op, class T, Scalars scalars>
void binary(const void* const* x, void* y, std::size_t n) {
  for_each_vector<T>(
      n, [](auto a, auto b) HWY_ATTR { return Op::of(a, b); }, Results<T>(y),
      Operand<T, (scalars & 1) != 0>(x[0]),
      Operand<T, (scalars & 2) != 0>(x[1]));
}

template <class Op, class T>
ElementwiseFunction unary_of(Scalars scalars) {
  return scalars == 0 ? unary<Op, T> : nullptr;
}

template <class Op, class T>
ElementwiseFunction binary_of(Scalars scalars) {
  if (scalars == 0) return binary<Op, T, 0>;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (scalars == 1) return binary<Op, T, 1>;
    if (scalars == 2) return binary<Op, T, 2>;
  }
  return nullptr;
}

template <class T>
ElementwiseFunction function_of(Arithmetic op, Scalars scalars) {
  using enum Arithmetic;
  switch (op) {
    case add:
      return binary_of<Add, T>(scalars);
    case sub:
      return binary_of<Sub, T>(scalars);
    case mul:
      return binary_of<Mul, T>(scalars);
    case maximum:
      return binary_of<Maximum, T>(scalars);
    case minimum:
      return binary_of<Minimum, T>(scalars);
    case masked_product:
      return binary_of<MaskedProduct, T>(scalars);
    case neg:
      return unary_of<Neg, T>(scalars);
    case abs:
      return unary_of<Abs, T>(scalars);
    case relu:
      return unary_of<Relu, T>(scalars);
    case div:
      if constexpr (hwy::IsFloat<T>()) return binary_of<Div, T>(scalars);
      break;
    case sqrt:
      if constexpr (hwy::IsFloat<T>()) return unary_of<Sqrt, T>(scalars);
      break;
    case erf:
    case logistic:
      break;
  }
  return nullptr;
}
#endif

ElementwiseFunction find_arithmetic([[maybe_unused]] Arithmetic op,
                                    [[maybe_unused]] Number type,
                                    [[maybe_unused]] Scalars scalars) {
#if TOPOS_VECTORS
  switch (type) {
    case Number::f32:
      return function_of<float>(op, scalars);
    case Number::f64:
      return function_of<double>(op, scalars);
    case Number::i32:
      return function_of<std::int32_t>(op, scalars);
  }
#endif
  return nullptr;
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(find_arithmetic);

ElementwiseFunction arithmetic_function(Arithmetic op, Number type,
                                        Scalars scalars) {
  apply_target_cap();
  return HWY_DYNAMIC_DISPATCH(find_arithmetic)(op, type, scalars);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

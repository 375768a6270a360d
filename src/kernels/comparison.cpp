// Comparisons, and what is chosen by them.

#include "kernels/elementwise.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/comparison.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

#if TOPOS_VECTORS
namespace hn = hwy::HWY_NAMESPACE;

struct Equal {
  template <class V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Eq(a, b);
  }
};

// Highway's Ne does not hold for NaN on some targets.
struct NotEqual {
  template <class V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Not(hn::Eq(a, b));
  }
};

struct Less {
  template <class V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Lt(a, b);
  }
};

struct LessEqual {
  template <class V>
  static HWY_INLINE auto of(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<hn::DFromV<V>>>()) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Gt(a, b));
    }
  }
};

struct Greater {
  template <class V>
  static HWY_INLINE auto of(V a, V b) {
    return hn::Gt(a, b);
  }
};

struct GreaterEqual {
  template <class V>
  static HWY_INLINE auto of(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<hn::DFromV<V>>>()) {
      return hn::Ge(a, b);
    } else {
      return hn::Not(hn::Lt(a, b));
    }
  }
};

template <class Op, class T, Scalars scalars>
void compare(const void* const* x, void* y, std::size_t n) {
  for_each_vector<T>(
      n, [](auto a, auto b) HWY_ATTR { return Op::of(a, b); },
      MaskResults<T>(y), Operand<T, (scalars & 1) != 0>(x[0]),
      Operand<T, (scalars & 2) != 0>(x[1]));
}

template <class Op, class T>
ElementwiseFunction compare_of(Scalars scalars) {
  if (scalars == 0) return compare<Op, T, 0>;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (scalars == 1) return compare<Op, T, 1>;
    if (scalars == 2) return compare<Op, T, 2>;
  }
  return nullptr;
}

template <class T>
ElementwiseFunction function_of(Comparison op, Scalars scalars) {
  switch (op) {
    case Comparison::equal:
      return compare_of<Equal, T>(scalars);
    case Comparison::not_equal:
      return compare_of<NotEqual, T>(scalars);
    case Comparison::less:
      return compare_of<Less, T>(scalars);
    case Comparison::less_equal:
      return compare_of<LessEqual, T>(scalars);
    case Comparison::greater:
      return compare_of<Greater, T>(scalars);
    case Comparison::greater_equal:
      return compare_of<GreaterEqual, T>(scalars);
  }
  return nullptr;
}

template <class T, Scalars scalars>
void select(const void* const* x, void* y, std::size_t n) {
  for_each_vector<T>(
      n,
      [](auto condition, auto a, auto b)
          HWY_ATTR { return hn::IfThenElse(condition, a, b); },
      Results<T>(y), MaskOperand<T>(x[0]), Operand<T, (scalars & 2) != 0>(x[1]),
      Operand<T, (scalars & 4) != 0>(x[2]));
}

template <class T>
ElementwiseFunction select_of(Scalars scalars) {
  if (scalars == 0) return select<T, 0>;
  if (scalars == 2) return select<T, 2>;
  if (scalars == 4) return select<T, 4>;
  if (scalars == 6) return select<T, 6>;
  return nullptr;
}
#endif

ElementwiseFunction find_comparison([[maybe_unused]] Comparison op,
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

ElementwiseFunction find_select([[maybe_unused]] Number type,
                                [[maybe_unused]] Scalars scalars) {
#if TOPOS_VECTORS
  switch (type) {
    case Number::f32:
      return select_of<float>(scalars);
    case Number::f64:
      return select_of<double>(scalars);
    case Number::i32:
      return select_of<std::int32_t>(scalars);
  }
#endif
  return nullptr;
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(find_comparison);
HWY_EXPORT(find_select);

ElementwiseFunction comparison_function(Comparison op, Number type,
                                        Scalars scalars) {
  apply_target_cap();
  return HWY_DYNAMIC_DISPATCH(find_comparison)(op, type, scalars);
}

ElementwiseFunction select_function(Number type, Scalars scalars) {
  apply_target_cap();
  return HWY_DYNAMIC_DISPATCH(find_select)(type, scalars);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

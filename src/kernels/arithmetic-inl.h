// The operations of elementwise arithmetic on vectors.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_ARITHMETIC_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_ARITHMETIC_INL_H
#undef TOPOS_KERNELS_ARITHMETIC_INL_H
#else
#define TOPOS_KERNELS_ARITHMETIC_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

struct Add {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Add(a, b);
  }
};

struct Sub {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Sub(a, b);
  }
};

struct Mul {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Mul(a, b);
  }
};

struct Div {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Div(a, b);
  }
};

// Equal operands have equal bits, or are zeros: + if either is.
struct Maximum {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    if constexpr (hwy::IsFloat<hn::TFromD<hn::DFromV<V>>>()) {
      const V greater = hn::IfThenElse(hn::Gt(a, b), a, b);
      const V ordered = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), greater);
      return hn::IfThenElse(hn::IsNaN(a), a, ordered);
    } else {
      return hn::Max(a, b);
    }
  }
};

struct Minimum {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    if constexpr (hwy::IsFloat<hn::TFromD<hn::DFromV<V>>>()) {
      const V lesser = hn::IfThenElse(hn::Lt(a, b), a, b);
      const V ordered = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), lesser);
      return hn::IfThenElse(hn::IsNaN(a), a, ordered);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct MaskedProduct {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    const V zero = hn::Zero(hn::DFromV<V>());
    return hn::IfThenZeroElse(hn::Or(hn::Eq(a, zero), hn::Eq(b, zero)),
                              hn::Mul(a, b));
  }
};

struct Neg {
  template <class V>
  static HWY_INLINE V of(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Neg(x);
  }
};

struct Abs {
  template <class V>
  static HWY_INLINE V of(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Abs(x);
  }
};

struct Sqrt {
  template <class V>
  static HWY_INLINE V of(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Sqrt(x);
  }
};

// NaN is not less.
struct Relu {
  template <class V>
  static HWY_INLINE V of(V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const V zero = hn::Zero(hn::DFromV<V>());
    if constexpr (hwy::IsFloat<hn::TFromD<hn::DFromV<V>>>()) {
      return hn::IfThenZeroElse(hn::Le(x, zero), x);
    } else {
      return hn::Max(x, zero);
    }
  }
};

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

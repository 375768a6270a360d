// The loops of the cheap elementwise operations.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_ELEMENTWISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_ELEMENTWISE_INL_H
#undef TOPOS_KERNELS_ELEMENTWISE_INL_H
#else
#define TOPOS_KERNELS_ELEMENTWISE_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise.h"
#include "kernels/simd-inl.h"

// Targets without vectors have no kernels.
#undef TOPOS_VECTORS
#define TOPOS_VECTORS TOPOS_VECTOR_FMA

#if TOPOS_VECTORS

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

template <class T>
using Tag = hwy::HWY_NAMESPACE::ScalableTag<T>;
template <class T>
using VectorOf = hwy::HWY_NAMESPACE::Vec<Tag<T>>;
template <class T>
using MaskOf = hwy::HWY_NAMESPACE::Mask<Tag<T>>;
/// As many bytes as a vector of T has lanes.
template <class T>
using ByteTag = hwy::HWY_NAMESPACE::Rebind<std::uint8_t, Tag<T>>;

/// An operand of type From, as many elements at a time as a vector of T has.
template <class T, bool is_scalar, class From = T>
class Operand {
 public:
  using FromTag = hwy::HWY_NAMESPACE::Rebind<From, Tag<T>>;
  using Vector = hwy::HWY_NAMESPACE::Vec<FromTag>;

  HWY_INLINE explicit Operand(const void* x)
      : x_(static_cast<const From*>(x)) {}

  HWY_INLINE Vector at(std::size_t i) const {
    return hwy::HWY_NAMESPACE::LoadU(FromTag(), x_ + i);
  }
  /// The first `count` of them.
  HWY_INLINE Vector at(std::size_t i, std::size_t count) const {
    return load_first(FromTag(), x_ + i, count);
  }

 private:
  const From* x_;
};

template <class T, class From>
class Operand<T, true, From> {
 public:
  HWY_INLINE explicit Operand(const void* x)
      : value_(hwy::HWY_NAMESPACE::Set(Tag<T>(), *static_cast<const T*>(x))) {}

  HWY_INLINE VectorOf<T> at(std::size_t) const { return value_; }
  HWY_INLINE VectorOf<T> at(std::size_t, std::size_t) const { return value_; }

 private:
  VectorOf<T> value_;
};

/// Booleans, as masks of vectors of T.
template <class T>
class MaskOperand {
 public:
  HWY_INLINE explicit MaskOperand(const void* x)
      : x_(static_cast<const std::uint8_t*>(x)) {}

  HWY_INLINE MaskOf<T> at(std::size_t i) const {
    return mask(hwy::HWY_NAMESPACE::LoadU(ByteTag<T>(), x_ + i));
  }
  HWY_INLINE MaskOf<T> at(std::size_t i, std::size_t count) const {
    std::uint8_t bytes[hwy::HWY_NAMESPACE::MaxLanes(Tag<T>())] = {};
    for (std::size_t j = 0; j < count; ++j) bytes[j] = x_[i + j];
    return mask(hwy::HWY_NAMESPACE::LoadU(ByteTag<T>(), bytes));
  }

 private:
  static HWY_INLINE MaskOf<T> mask(hwy::HWY_NAMESPACE::Vec<ByteTag<T>> bytes) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::RebindToSigned<Tag<T>> wide;
    const hn::Rebind<std::int32_t, Tag<T>> ints;
    const auto lanes = hn::PromoteTo(ints, bytes);
    if constexpr (sizeof(T) == 4) {
      return hn::RebindMask(Tag<T>(), hn::Ne(lanes, hn::Zero(ints)));
    } else {
      return hn::RebindMask(Tag<T>(),
                            hn::Ne(hn::PromoteTo(wide, lanes), hn::Zero(wide)));
    }
  }

  const std::uint8_t* x_;
};

/// Where results go: elements of T.
template <class T>
class Results {
 public:
  HWY_INLINE explicit Results(void* y) : y_(static_cast<T*>(y)) {}

  template <class V>
  HWY_INLINE void set(std::size_t i, V v) const {
    hwy::HWY_NAMESPACE::StoreU(v, hwy::HWY_NAMESPACE::DFromV<V>(), y_ + i);
  }
  template <class V>
  HWY_INLINE void set(std::size_t i, V v, std::size_t count) const {
    store_first(hwy::HWY_NAMESPACE::DFromV<V>(), v, y_ + i, count);
  }

 private:
  T* y_;
};

/// Masks of vectors of T, as booleans.
template <class T>
class MaskResults {
 public:
  HWY_INLINE explicit MaskResults(void* y)
      : y_(static_cast<std::uint8_t*>(y)) {}

  HWY_INLINE void set(std::size_t i, MaskOf<T> mask) const {
    hwy::HWY_NAMESPACE::StoreU(bytes(mask), ByteTag<T>(), y_ + i);
  }
  HWY_INLINE void set(std::size_t i, MaskOf<T> mask, std::size_t count) const {
    std::uint8_t lanes[hwy::HWY_NAMESPACE::MaxLanes(Tag<T>())];
    hwy::HWY_NAMESPACE::StoreU(bytes(mask), ByteTag<T>(), lanes);
    for (std::size_t j = 0; j < count; ++j) y_[i + j] = lanes[j];
  }

 private:
  static HWY_INLINE hwy::HWY_NAMESPACE::Vec<ByteTag<T>> bytes(MaskOf<T> mask) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::RebindToUnsigned<Tag<T>> d;
    const auto ones = hn::BitCast(d, hn::VecFromMask(Tag<T>(), mask));
    return hn::TruncateTo(ByteTag<T>(),
                          hn::ShiftRight<sizeof(T) * 8 - 1>(ones));
  }

  std::uint8_t* y_;
};

/// y[i] = f(x[i]...) for vectors of T, then for what is left.
template <class T, class Function, class Y, class... X>
HWY_INLINE void for_each_vector(std::size_t n, Function f, Y y, X... x) {
  constexpr std::size_t width = hwy::HWY_NAMESPACE::MaxLanes(Tag<T>());
  std::size_t i = 0;
  for (; i + width <= n; i += width) y.set(i, f(x.at(i)...));
  if (i < n) y.set(i, f(x.at(i, n - i)...), n - i);
}

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TOPOS_VECTORS

#endif  // toggled guard

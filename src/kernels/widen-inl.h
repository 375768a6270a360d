// Loads of 16-bit types as f32, with the bits of topos/half.h up to whether a
// NaN is quiet, and loads of f32 and f64 as they are.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_WIDEN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_WIDEN_INL_H
#undef TOPOS_KERNELS_WIDEN_INL_H
#else
#define TOPOS_KERNELS_WIDEN_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "kernels/simd-inl.h"
#include "topos/half.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

using WordTag = hwy::HWY_NAMESPACE::RebindToUnsigned<
    hwy::HWY_NAMESPACE::ScalableTag<float>>;
using Word = hwy::HWY_NAMESPACE::Vec<WordTag>;

HWY_INLINE Word word(std::uint32_t x) {
  return hwy::HWY_NAMESPACE::Set(WordTag(), x);
}

HWY_INLINE Word widened_from_bf16(Word x) {
  return hwy::HWY_NAMESPACE::ShiftLeft<16>(x);
}

HWY_INLINE Word widened_from_f16(Word x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const WordTag d;
  const hn::RebindToSigned<WordTag> i;
  const hn::RebindToFloat<WordTag> f;
  const Word size = hn::And(x, word(0x7FFF));
  const auto exceeds = [&](std::int32_t bound) {
    return hn::RebindMask(d, hn::Gt(hn::BitCast(i, size), hn::Set(i, bound)));
  };
  const Word bias = word(112u << 23);
  const Word normal = hn::Add(hn::ShiftLeft<13>(size), bias);
  // 2^-14 (1 + size / 1024) - 2^-14, exactly.
  const Word least = word(0x38800000);
  const Word subnormal = hn::BitCast(
      d, hn::Sub(hn::BitCast(f, hn::Or(hn::ShiftLeft<13>(size), least)),
                 hn::BitCast(f, least)));
  Word result = hn::IfThenElse(exceeds(0x3FF), normal, subnormal);
  result = hn::IfThenElse(exceeds(0x7BFF), hn::Add(normal, bias), result);
  return hn::Or(result, hn::ShiftLeft<16>(hn::And(x, word(0x8000))));
}

/// A vector of f32 from the bits of a 16-bit type.
template <class S, class D, class V>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> widened(D d, V bits) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (std::same_as<S, BFloat16>) {
    return hn::BitCast(d, widened_from_bf16(hn::PromoteTo(WordTag(), bits)));
  } else {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    // By the instruction, which makes NaN quiet, as what is computed would.
    const hn::Rebind<hwy::float16_t, D> halves;
    return hn::PromoteTo(d, hn::BitCast(halves, bits));
#else
    return hn::BitCast(d, widened_from_f16(hn::PromoteTo(WordTag(), bits)));
#endif
  }
}

/// A vector's worth of elements from memory.
template <class D, class S>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_wide(D d, const S* from) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (std::floating_point<S>) {
    return hn::LoadU(d, from);
  } else {
    const hn::Rebind<std::uint16_t, D> shorts;
    return widened<S>(
        d, hn::LoadU(shorts, reinterpret_cast<const std::uint16_t*>(from)));
  }
}

/// n elements from memory to memory.
template <class S, class T>
HWY_INLINE void widen_all(const S* from, T* HWY_RESTRICT to, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(load_wide(d, from + i), d, to + i);
  }
  for (; i < n; ++i) to[i] = from[i];
}

/// The first `count` of them, +0 in the other lanes.
template <class D, class S>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_wide_first(D d, const S* from,
                                                      std::size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (std::floating_point<S>) {
    return load_first(d, from, count);
  } else {
    // Widened as a vector: one by one, they are much code.
    S lanes[hn::MaxLanes(D())] = {};
    std::copy(from, from + count, lanes);
    return load_wide(d, lanes);
  }
}

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

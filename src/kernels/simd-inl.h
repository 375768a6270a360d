// What Highway does not give alike on every target: partial vectors that touch
// no other memory, and a fused multiply-add.
//
// Included once per target, so the guard toggles as in Highway's own headers.

#if defined(TOPOS_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOPOS_KERNELS_SIMD_INL_H
#undef TOPOS_KERNELS_SIMD_INL_H
#else
#define TOPOS_KERNELS_SIMD_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

// Whether fused_multiply_add of f32 exists; that of f64 does if HWY_NATIVE_FMA.
#undef TOPOS_VECTOR_FMA
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define TOPOS_VECTOR_FMA 0
#else
#define TOPOS_VECTOR_FMA 1
#endif

// Highway's masked loads and stores of 128 bits may touch every lane.
#undef TOPOS_SAFE_MASKS
#define TOPOS_SAFE_MASKS (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2)

// Loops over arrays of vectors must vanish, or the arrays live in memory.
#undef TOPOS_UNROLL
#if HWY_COMPILER_CLANG
#define TOPOS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TOPOS_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {

/// The first `count` lanes from memory, +0 in the others.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_first(
    D d, const hwy::HWY_NAMESPACE::TFromD<D>* from, std::size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
#if TOPOS_SAFE_MASKS
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

/// The first `count` lanes to memory, and nothing else.
template <class D>
HWY_INLINE void store_first(D d, hwy::HWY_NAMESPACE::Vec<D> v,
                            hwy::HWY_NAMESPACE::TFromD<D>* to,
                            std::size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
#if TOPOS_SAFE_MASKS
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

#if HWY_NATIVE_FMA

/// a b + c, rounded once.
template <class D, class V>
HWY_INLINE V fused_multiply_add(D, V a, V b, V c) {
  return hwy::HWY_NAMESPACE::MulAdd(a, b, c);
}

#elif TOPOS_VECTOR_FMA

/// a b + c, rounded to odd in double precision: then rounding to f32 gives what
/// one rounding of the exact value would, since 53 >= 2 24 + 2
/// [Boldo & Melquiond 2008]. The product is exact, and [Knuth TAOCP 4.2.2]'s
/// two-sum gives the error of the sum.
template <class D, class V>
HWY_INLINE V odd_multiply_add(D d, V a, V b, V c) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const V product = hn::Mul(a, b);
  const V sum = hn::Add(product, c);
  const V part = hn::Sub(sum, product);
  const V error =
      hn::Add(hn::Sub(product, hn::Sub(sum, part)), hn::Sub(c, part));
  // An inexact sum with an even last bit moves one unit towards the exact
  // value. Comparisons with NaN are false, so infinities stay what they are.
  const auto bits = hn::BitCast(di, sum);
  const auto one = hn::Set(di, 1);
  const auto inexact =
      hn::BitCast(di, hn::VecFromMask(d, hn::Or(hn::Lt(error, hn::Zero(d)),
                                                hn::Gt(error, hn::Zero(d)))));
  const auto even = hn::AndNot(bits, one);
  const auto apart = hn::ShiftRight<63>(
      hn::Xor(bits, hn::BitCast(di, error)));  // -1 if the signs differ
  const auto step = hn::And(hn::And(hn::Or(apart, one), inexact),
                            hn::Sub(hn::Zero(di), even));
  return hn::BitCast(d, hn::Add(bits, step));
}

template <class D, class V>
HWY_INLINE V fused_multiply_add(D d, V a, V b, V c) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Half<D> dh;
  const hn::Repartition<double, D> dd;
  const auto low = odd_multiply_add(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, a)),
                                    hn::PromoteTo(dd, hn::LowerHalf(dh, b)),
                                    hn::PromoteTo(dd, hn::LowerHalf(dh, c)));
  const auto high =
      odd_multiply_add(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, a)),
                       hn::PromoteTo(dd, hn::UpperHalf(dh, b)),
                       hn::PromoteTo(dd, hn::UpperHalf(dh, c)));
  return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}

#endif

}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard

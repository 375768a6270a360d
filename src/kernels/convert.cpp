// By integers: Highway's own conversions truncate to bf16, and those of f16 are
// wrong on some targets. Compiled once per instruction set; what is left of a
// vector is the definition's.

#include "kernels/convert.h"

#include <cstdint>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::size_t;

using Floats = hn::ScalableTag<float>;
using Words = WordTag;
using Integers = hn::RebindToSigned<Floats>;
using Shorts = hn::Rebind<std::uint16_t, Floats>;

// The word rounded at bit `low`, to nearest even; the lower bits are to be
// dropped. A carry goes to the exponent.
template <int low>
HWY_INLINE Word rounded(Word x) {
  const Word odd = hn::And(hn::ShiftRight<low>(x), word(1));
  return hn::Add(hn::Add(x, word((1u << (low - 1)) - 1)), odd);
}

HWY_INLINE Word narrowed_to_bf16(Word x) {
  const Word size = hn::And(x, word(0x7FFFFFFF));
  const Word quiet = hn::Or(x, word(0x400000));
  const auto nan =
      hn::Gt(hn::BitCast(Integers(), size), hn::Set(Integers(), 0x7F800000));
  return hn::ShiftRight<16>(
      hn::IfThenElse(hn::RebindMask(Words(), nan), quiet, rounded<16>(x)));
}

HWY_INLINE Word narrowed_to_f16(Word x) {
  const Words d;
  const Integers i;
  const Word size = hn::And(x, word(0x7FFFFFFF));
  const auto exceeds = [&](std::int32_t bound) {
    return hn::RebindMask(d, hn::Gt(hn::BitCast(i, size), hn::Set(i, bound)));
  };
  // The exponent's bias is 127 there and 15 here. What is too large is cut at
  // infinity, which has the greatest exponent.
  const Word normal =
      hn::Min(hn::ShiftRight<13>(rounded<13>(hn::Sub(size, word(112u << 23)))),
              word(0x7C00));
  // The last place of 1/2 is 2^-24, that of all subnormals: an addition rounds
  // to it.
  const Word half = word(0x3F000000);
  const Word subnormal = hn::Sub(
      hn::BitCast(
          d, hn::Add(hn::BitCast(Floats(), size), hn::BitCast(Floats(), half))),
      half);
  const Word nan =
      hn::Or(word(0x7E00), hn::And(hn::ShiftRight<13>(size), word(0x3FF)));
  Word result = hn::IfThenElse(exceeds(0x387FFFFF), normal, subnormal);
  result = hn::IfThenElse(exceeds(0x7F800000), nan, result);
  return hn::Or(result, hn::And(hn::ShiftRight<16>(x), word(0x8000)));
}

template <class Half, class F>
HWY_INLINE void narrow(const void* const* x, void* y, size_t n, F&& f) {
  const float* const from = static_cast<const float*>(x[0]);
  Half* const to = static_cast<Half*>(y);
  const Words d;
  const size_t width = hn::Lanes(d);
  size_t i = 0;
  for (; i + width <= n; i += width) {
    const Word bits = f(hn::BitCast(d, hn::LoadU(Floats(), from + i)));
    // From a signed type, so that nothing saturates.
    hn::StoreU(hn::DemoteTo(Shorts(), hn::BitCast(Integers(), bits)), Shorts(),
               reinterpret_cast<std::uint16_t*>(to + i));
  }
  for (; i < n; ++i) to[i] = static_cast<Half>(from[i]);
}

template <class Half, class F>
HWY_INLINE void widen(const void* const* x, void* y, size_t n, F&& f) {
  const Half* const from = static_cast<const Half*>(x[0]);
  float* const to = static_cast<float*>(y);
  const Words d;
  const size_t width = hn::Lanes(d);
  size_t i = 0;
  for (; i + width <= n; i += width) {
    const auto bits =
        hn::LoadU(Shorts(), reinterpret_cast<const std::uint16_t*>(from + i));
    hn::StoreU(hn::BitCast(Floats(), f(hn::PromoteTo(d, bits))), Floats(),
               to + i);
  }
  for (; i < n; ++i) to[i] = from[i];
}

void f32_to_bf16(const void* const* x, void* y, size_t n) {
  narrow<BFloat16>(x, y, n, [](Word v) { return narrowed_to_bf16(v); });
}

void f32_to_f16(const void* const* x, void* y, size_t n) {
  narrow<Float16>(x, y, n, [](Word v) { return narrowed_to_f16(v); });
}

void bf16_to_f32(const void* const* x, void* y, size_t n) {
  widen<BFloat16>(x, y, n, [](Word v) { return widened_from_bf16(v); });
}

void f16_to_f32(const void* const* x, void* y, size_t n) {
  widen<Float16>(x, y, n, [](Word v) { return widened_from_f16(v); });
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(f32_to_bf16);
HWY_EXPORT(f32_to_f16);
HWY_EXPORT(bf16_to_f32);
HWY_EXPORT(f16_to_f32);

namespace {

void narrow_to_bf16(const void* const* x, void* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(f32_to_bf16)(x, y, n);
}

void narrow_to_f16(const void* const* x, void* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(f32_to_f16)(x, y, n);
}

void widen_bf16(const void* const* x, void* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(bf16_to_f32)(x, y, n);
}

void widen_f16(const void* const* x, void* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(f16_to_f32)(x, y, n);
}

}  // namespace

Conversion conversion(DType from, DType to) {
  apply_target_cap();
  if (from == f32 && to == bf16) return narrow_to_bf16;
  if (from == f32 && to == f16) return narrow_to_f16;
  if (from == bf16 && to == f32) return widen_bf16;
  if (from == f16 && to == f32) return widen_f16;
  return nullptr;
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

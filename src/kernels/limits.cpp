// Loops that do nothing but what they measure, compiled once per instruction
// set.

#include "kernels/limits.h"

#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/limits.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::size_t;
using Floats = hn::ScalableTag<float>;

// Enough chains to hide the latency of each: two units of up to five cycles.
inline constexpr size_t chains = 12;

double multiply_adds(size_t rounds) {
  const Floats d;
  hn::Vec<Floats> sum[chains];
  TOPOS_UNROLL
  for (size_t i = 0; i < chains; ++i) {
    sum[i] = hn::Set(d, static_cast<float>(i));
  }
  const auto factor = hn::Set(d, 0.5f);
  for (size_t round = 0; round < rounds; ++round) {
    TOPOS_UNROLL
    for (size_t i = 0; i < chains; ++i) {
      sum[i] = hn::MulAdd(sum[i], factor, factor);
    }
  }
  TOPOS_UNROLL
  for (size_t i = 1; i < chains; ++i) sum[0] = hn::Add(sum[0], sum[i]);
  volatile float sink = hn::GetLane(sum[0]);
  static_cast<void>(sink);
  return 2.0 * static_cast<double>(rounds * chains * hn::Lanes(d));
}

void reads(const float* data, size_t bytes) {
  const Floats d;
  constexpr size_t streams = 4;
  const size_t lanes = hn::Lanes(d);
  const size_t length = bytes / sizeof(float) / streams / lanes * lanes;
  hn::Vec<Floats> sum[streams];
  TOPOS_UNROLL
  for (size_t s = 0; s < streams; ++s) sum[s] = hn::Zero(d);
  for (size_t i = 0; i < length; i += lanes) {
    TOPOS_UNROLL
    for (size_t s = 0; s < streams; ++s) {
      sum[s] = hn::Or(sum[s], hn::LoadU(d, data + s * length + i));
    }
  }
  TOPOS_UNROLL
  for (size_t s = 1; s < streams; ++s) sum[0] = hn::Or(sum[0], sum[s]);
  volatile float sink = hn::GetLane(sum[0]);
  static_cast<void>(sink);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(reads);

double run_multiply_adds(std::size_t rounds) {
  apply_target_cap();
  return HWY_DYNAMIC_DISPATCH(multiply_adds)(rounds);
}

void run_reads(const float* data, std::size_t bytes) {
  apply_target_cap();
  HWY_DYNAMIC_DISPATCH(reads)(data, bytes);
}

}  // namespace topos::kernels

#endif  // HWY_ONCE

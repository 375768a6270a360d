#include "read_speed.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../bench/read_speed.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace topos::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Every element once, in `streams` (at most 8) streams side by side.
float read_streams(const float* data, std::size_t count, std::size_t streams) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t step = 4 * lanes;
  const std::size_t each = count / streams / step * step;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (std::size_t at = 0; at < each; at += step) {
    for (std::size_t stream = 0; stream < streams; ++stream) {
      const float* from = data + stream * each + at;
      s0 = hn::Add(s0, hn::LoadU(d, from));
      s1 = hn::Add(s1, hn::LoadU(d, from + lanes));
      s2 = hn::Add(s2, hn::LoadU(d, from + 2 * lanes));
      s3 = hn::Add(s3, hn::LoadU(d, from + 3 * lanes));
    }
  }
  return hn::GetLane(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

}  // namespace
}  // namespace topos::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::bench {

HWY_EXPORT(read_streams);

namespace {

/// Seconds from the first start to the last end.
double seconds_on(int threads, const std::function<float(int)>& run) {
  std::vector<float> results(static_cast<std::size_t>(threads));
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) {
    others.emplace_back([&, thread] {
      results[static_cast<std::size_t>(thread)] = run(thread);
    });
  }
  results[0] = run(0);
  for (std::thread& other : others) other.join();
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - start;
  // The sums are needed, or nothing need be read.
  volatile float kept = 0;
  for (float result : results) kept = kept + result;
  return time.count();
}

}  // namespace

double read_ms(std::span<const std::byte> bytes, int threads,
               std::size_t streams) {
  const auto* data = reinterpret_cast<const float*>(bytes.data());
  const std::size_t part =
      bytes.size() / sizeof(float) / static_cast<std::size_t>(threads);
  const double seconds = seconds_on(threads, [&](int thread) {
    return HWY_DYNAMIC_DISPATCH(read_streams)(
        data + part * static_cast<std::size_t>(thread), part, streams);
  });
  return seconds * 1e3;
}

std::size_t best_streams(std::span<const std::byte> bytes, int threads) {
  std::size_t best = 1;
  double least = 1e9;
  for (int attempt = 0; attempt < 3; ++attempt) {
    for (std::size_t streams = 1; streams <= 8; streams *= 2) {
      const double ms = read_ms(bytes, threads, streams);
      if (ms < least) best = streams;
      least = std::min(least, ms);
    }
  }
  return best;
}

}  // namespace topos::bench

#endif  // HWY_ONCE

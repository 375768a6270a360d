#include "limits.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../bench/limits.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace topos::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Twelve chains hide the latency of any multiply-add that exists.
constexpr std::size_t flops_a_round() {
  return std::size_t{2} * 12 * hn::MaxLanes(hn::ScalableTag<float>());
}

float multiply_add_rounds(std::size_t rounds) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 0.001F);
  // Different values, or one chain would do for all.
  const auto start = [&](float value) { return hn::Set(d, value); };
  auto a = start(1), b = start(2), c = start(3), e = start(4), f = start(5);
  auto g = start(6), h = start(7), i = start(8), j = start(9), k = start(10);
  auto l = start(11), m = start(12);
  for (std::size_t round = 0; round < rounds; ++round) {
    a = hn::MulAdd(a, factor, term);
    b = hn::MulAdd(b, factor, term);
    c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term);
    f = hn::MulAdd(f, factor, term);
    g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term);
    i = hn::MulAdd(i, factor, term);
    j = hn::MulAdd(j, factor, term);
    k = hn::MulAdd(k, factor, term);
    l = hn::MulAdd(l, factor, term);
    m = hn::MulAdd(m, factor, term);
  }
  const auto first = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)),
                             hn::Add(hn::Add(f, g), hn::Add(h, i)));
  return hn::GetLane(hn::Add(first, hn::Add(hn::Add(j, k), hn::Add(l, m))));
}

std::size_t flops_of(std::size_t rounds) { return rounds * flops_a_round(); }

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

HWY_EXPORT(multiply_add_rounds);
HWY_EXPORT(flops_of);
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

double fma_gflops(int threads) {
  constexpr std::size_t rounds = 2'000'000;
  double best = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double seconds = seconds_on(threads, [](int) {
      return HWY_DYNAMIC_DISPATCH(multiply_add_rounds)(rounds);
    });
    best = std::max(
        best, static_cast<double>(HWY_DYNAMIC_DISPATCH(flops_of)(rounds)) *
                  threads / seconds / 1e9);
  }
  return best;
}

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

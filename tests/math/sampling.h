#pragma once

#include <cstdint>
#include <cstdio>
#include <random>

namespace topos::math::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(undefined_behavior_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

/// A sample's size: `count`, or a fiftieth under a sanitizer.
constexpr std::uint32_t sample_size(std::uint32_t count) {
  return is_sanitized ? count / 50 : count;
}

/// A generator seeded anew in each run; the seed is printed. To repeat a run,
/// put its seed here.
inline std::mt19937_64 seeded_generator() {
  const std::uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return std::mt19937_64(seed);
}

}  // namespace topos::math::testing

// Shared by the tests of kernels: every instruction set of this CPU in turn,
// values that find mistakes, and equality of bits.

#pragma once

#include <gtest/gtest.h>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"
// After the list of targets that are not built.
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace topos::kernels::test {

/// Calls body() once per target that this build has and this CPU supports.
template <class Body>
void on_every_target(Body body) {
  apply_target_cap();  // before anything is narrowed
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(std::string("target ") + hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// The seed of a test's random data: TOPOS_SEED, or a fixed one. Failures show
/// it.
inline std::uint32_t seed() {
  const char* given = std::getenv("TOPOS_SEED");
  return given == nullptr
             ? 20231205u
             : static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
}

#define TOPOS_SHOW_SEED() \
  SCOPED_TRACE("TOPOS_SEED=" + std::to_string(topos::kernels::test::seed()))

/// The same bits, or both NaN.
template <std::floating_point T>
bool same_bits(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y);
}

/// Fails with the first element that differs.
template <std::floating_point T>
void expect_same_bits(const std::vector<T>& actual,
                      const std::vector<T>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (same_bits(actual[i], expected[i])) continue;
    ADD_FAILURE() << "element " << i << " is "
                  << testing::PrintToString(actual[i])
                  << ", the reference says "
                  << testing::PrintToString(expected[i]);
    return;
  }
}

/// Ordinary: of either sign and many magnitudes, so that every order of
/// addition has its own bits. Special: subnormals and signed zeros among them.
/// Wild: infinities, NaN and overflow too.
enum class Values { ordinary, special, wild };

template <std::floating_point T>
std::vector<T> random_values(std::mt19937& random, std::size_t count,
                             Values kind) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {T{0},
                       -T{0},
                       Limits::denorm_min(),
                       -Limits::denorm_min(),
                       Limits::min(),
                       -Limits::min(),
                       Limits::min() / 2,
                       T{1},
                       T{-1},
                       T{1} + Limits::epsilon()};
  const T wild[] = {Limits::infinity(), -Limits::infinity(),
                    Limits::quiet_NaN(), Limits::max(), Limits::lowest()};
  std::uniform_real_distribution<T> mantissa(T{-1}, T{1});
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<T> values(count);
  for (T& value : values) {
    value = std::ldexp(mantissa(random), exponent(random));
    if (kind != Values::ordinary && random() % 3 == 0) {
      value = special[random() % std::size(special)];
    }
    if (kind == Values::wild && random() % 50 == 0) {
      value = wild[random() % std::size(wild)];
    }
  }
  return values;
}

}  // namespace topos::kernels::test

#include "math/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <limits>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace topos::math {
namespace {

// Volatile, so that the compiler does not compute with the default modes.
double third() {
  volatile double one = 1, three = 3;
  return one / three;
}

TEST(FloatEnvironment, RoundsToNearestAndRestores) {
  const double nearest = third();
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const double upward = third();
  EXPECT_NE(upward, nearest);
  {
    const FloatEnvironment environment;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    EXPECT_EQ(third(), nearest);
    const FloatEnvironment nested;
    EXPECT_EQ(third(), nearest);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_EQ(third(), upward);
  std::fesetround(FE_TONEAREST);
}

#if defined(__x86_64__) || defined(__aarch64__)

#ifdef __x86_64__
std::uint64_t modes() { return _mm_getcsr(); }
void set_modes(std::uint64_t value) {
  _mm_setcsr(static_cast<unsigned>(value));
}
constexpr std::uint64_t flushing = 0x9FC0;  // results, and operands
constexpr std::uint64_t trapping = 0x1D80;  // at a division by zero
#else
std::uint64_t modes() {
  std::uint64_t value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_modes(std::uint64_t value) {
  __asm__ volatile("msr fpcr, %0" : : "r"(value));
}
constexpr std::uint64_t flushing = 0x01000000;
constexpr std::uint64_t trapping = 0x00000200;
#endif

float half_of_least_normal() {
  volatile float least = std::numeric_limits<float>::min(), half = 0.5f;
  return least * half;
}

TEST(FloatEnvironment, KeepsSubnormalsAndMasksTraps) {
  const std::uint64_t before = modes();
  set_modes(flushing);
  EXPECT_EQ(half_of_least_normal(), 0.0f);
  {
    const FloatEnvironment environment;
    EXPECT_GT(half_of_least_normal(), 0.0f);
  }
  EXPECT_EQ(half_of_least_normal(), 0.0f);
  set_modes(trapping);
  const std::uint64_t possible = modes();  // some processors have no traps
  {
    const FloatEnvironment environment;
    volatile double one = 1, zero = 0;
    EXPECT_EQ(one / zero, std::numeric_limits<double>::infinity());
  }
  EXPECT_EQ(modes(), possible);
  set_modes(before);
}

TEST(FloatEnvironment, LeavesAGoodStateAlone) {
  const std::uint64_t before = modes();
  { const FloatEnvironment environment; }
  EXPECT_EQ(modes(), before);
}

#endif

}  // namespace
}  // namespace topos::math

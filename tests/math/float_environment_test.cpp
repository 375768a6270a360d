#include "math/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>
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

float half_of_least_normal() {
  volatile float least = std::numeric_limits<float>::min(), half = 0.5f;
  return least * half;
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

#ifdef __x86_64__
TEST(FloatEnvironment, KeepsSubnormalsAndMasksTraps) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x9FC0);  // flush results, treat operands as zero
  EXPECT_EQ(half_of_least_normal(), 0.0f);
  {
    const FloatEnvironment environment;
    EXPECT_GT(half_of_least_normal(), 0.0f);
  }
  EXPECT_EQ(half_of_least_normal(), 0.0f);
  _mm_setcsr(0x1D80);  // division by zero traps
  {
    const FloatEnvironment environment;
    volatile double one = 1, zero = 0;
    EXPECT_EQ(one / zero, std::numeric_limits<double>::infinity());
  }
  EXPECT_EQ(_mm_getcsr(), 0x1D80u);
  _mm_setcsr(before);
}

TEST(FloatEnvironment, LeavesAGoodStateAlone) {
  const unsigned before = _mm_getcsr();
  { const FloatEnvironment environment; }
  EXPECT_EQ(_mm_getcsr(), before);
}
#endif

}  // namespace
}  // namespace topos::math

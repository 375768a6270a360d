#include "topos/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "topos/tensor.h"

namespace topos {
namespace {

/// The bits of both formats: sign, exponent and fraction read apart.
struct Format {
  int fraction;
  int bias;
};
template <class Half>
constexpr Format format =
    std::is_same_v<Half, BFloat16> ? Format{7, 127} : Format{10, 15};

/// The number that bits stand for [IEEE 754-2019, 3.4].
double value_of(std::uint16_t bits, Format f) {
  const int fraction = bits & ((1 << f.fraction) - 1);
  const int exponent = (bits & 0x7FFF) >> f.fraction;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 2 * f.bias + 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::nan("");
  }
  const int significand = fraction + (exponent > 0 ? 1 << f.fraction : 0);
  return sign *
         std::ldexp(significand, std::max(exponent, 1) - f.bias - f.fraction);
}

template <class Half>
class Halves : public testing::Test {};
using Both = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Halves, Both);

TYPED_TEST(Halves, WidenToTheNumberThatTheyAreAndBack) {
  constexpr Format f = format<TypeParam>;
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    const double value = value_of(half.bits(), f);
    const float wide = half;
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(wide)) << bits;
      // Its payload stays, but that it becomes quiet.
      const std::uint32_t quiet = bits | (1u << (f.fraction - 1));
      EXPECT_EQ(TypeParam(wide).bits(), quiet);
      EXPECT_EQ(TypeParam(static_cast<double>(wide)).bits(), quiet);
      continue;
    }
    EXPECT_EQ(static_cast<double>(wide), value) << bits;
    EXPECT_EQ(std::signbit(wide), std::signbit(value)) << bits;
    EXPECT_EQ(TypeParam(wide).bits(), bits);
    EXPECT_EQ(TypeParam(static_cast<double>(wide)).bits(), bits);
  }
}

// Between two neighbours lies one tie: what is below it goes down, what is
// above goes up, and itself to the even one; in f32 and in f64, whose nearest
// number to a tie f32 does not have.
TYPED_TEST(Halves, RoundToNearestEven) {
  constexpr Format f = format<TypeParam>;
  const std::uint16_t infinity =
      std::numeric_limits<TypeParam>::infinity().bits();
  for (std::uint16_t bits = 0; bits < infinity; ++bits) {
    const double low = value_of(bits, f);
    const double gap = bits + 1 == infinity ? low - value_of(bits - 1, f)
                                            : value_of(bits + 1, f) - low;
    const double tie = low + gap / 2;
    const std::uint16_t even = bits % 2 == 0 ? bits : bits + 1;
    EXPECT_EQ(TypeParam(tie).bits(), even) << bits;
    EXPECT_EQ(TypeParam(-tie).bits(), even | 0x8000) << bits;
    EXPECT_EQ(TypeParam(std::nextafter(tie, 0)).bits(), bits);
    EXPECT_EQ(TypeParam(std::nextafter(tie, 1e300)).bits(), bits + 1);
    const auto narrow = static_cast<float>(tie);
    EXPECT_EQ(TypeParam(narrow).bits(), even);
    if (narrow == 0) continue;  // a tie of bf16 that is less than any f32
    EXPECT_EQ(TypeParam(std::nextafter(narrow, 0.0f)).bits(), bits);
    EXPECT_EQ(TypeParam(std::nextafter(narrow, 3.4e38f)).bits(), bits + 1);
  }
}

TYPED_TEST(Halves, RoundIntegersOnce) {
  constexpr int digits = std::numeric_limits<TypeParam>::digits;
  EXPECT_EQ(TypeParam(0).bits(), 0);
  EXPECT_EQ(static_cast<float>(TypeParam(-(1 << digits))), -(1 << digits));
  // Beside a tie by less than a double can say.
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  if (std::is_same_v<TypeParam, BFloat16>) {
    EXPECT_EQ(static_cast<float>(TypeParam(tie)), 0x1p62f);
    EXPECT_EQ(static_cast<float>(TypeParam(tie + 1)), 0x1.02p62f);
    EXPECT_EQ(static_cast<float>(TypeParam(-tie - 1)), -0x1.02p62f);
    EXPECT_EQ(static_cast<float>(TypeParam(UINT64_MAX)), 0x1p64f);
  } else {
    EXPECT_EQ(TypeParam(tie).bits(), 0x7C00);
    EXPECT_EQ(TypeParam(65519).bits(), 0x7BFF);
    EXPECT_EQ(TypeParam(65520).bits(), 0x7C00);
  }
  const float least = std::is_same_v<TypeParam, BFloat16>
                          ? -0x1p63f
                          : -std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(TypeParam(INT64_MIN)), least);
}

TYPED_TEST(Halves, HaveLimits) {
  using Limits = std::numeric_limits<TypeParam>;
  constexpr Format f = format<TypeParam>;
  EXPECT_EQ(static_cast<double>(Limits::max()),
            (2 - std::ldexp(1, -f.fraction)) * std::ldexp(1, f.bias));
  EXPECT_EQ(static_cast<double>(Limits::lowest()), -Limits::max());
  EXPECT_EQ(static_cast<double>(Limits::min()), std::ldexp(1, 1 - f.bias));
  EXPECT_EQ(static_cast<double>(Limits::denorm_min()),
            std::ldexp(1, 1 - f.bias - f.fraction));
  EXPECT_EQ(static_cast<double>(Limits::epsilon()), std::ldexp(1, -f.fraction));
  EXPECT_TRUE(std::isinf(Limits::infinity()));
  EXPECT_TRUE(std::isnan(Limits::quiet_NaN()));
  EXPECT_EQ(Limits::max_exponent, f.bias + 1);
}

TYPED_TEST(Halves, AreElementsOfTensors) {
  const Tensor x({2}, {TypeParam(1.5), TypeParam(-0.0)});
  EXPECT_EQ(x.dtype(), dtype_of<TypeParam>);
  EXPECT_EQ(x.type().size_bytes(), 4u);
  EXPECT_EQ(x.text(), x.type().text() + "{1.5 -0}");
  EXPECT_EQ(x.at<TypeParam>({0}).bits(), TypeParam(1.5).bits());
  EXPECT_EQ(Tensor::full({x.dtype(), {}}, 1.0 / 3).item(),
            static_cast<double>(TypeParam(1.0 / 3)));
  const Tensor nan =
      Tensor::scalar(std::numeric_limits<TypeParam>::quiet_NaN());
  const Tensor other = Tensor::scalar(TypeParam::from_bits(0x7FFF));
  EXPECT_TRUE(bits_equal(nan, other));
  EXPECT_FALSE(bits_equal(x, x.reversed(0)));
  EXPECT_FALSE(bits_equal(Tensor::zeros({x.dtype(), {}}),
                          Tensor::scalar(TypeParam(-0.0))));
}

// constexpr, and as every element type no larger than its bits.
static_assert(BFloat16(3.14f).bits() == 0x4049);
static_assert(BFloat16(1e-8).bits() == 0x322C);
static_assert(Float16(0.1).bits() == 0x2E66);
static_assert(sizeof(BFloat16) == 2 && std::is_trivially_copyable_v<BFloat16>);

}  // namespace
}  // namespace topos

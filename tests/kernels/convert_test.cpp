#include "kernels/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/every_target.h"

namespace topos::kernels {
namespace {

using test::on_every_target;

template <class From, class To>
std::vector<To> converted(const std::vector<From>& x) {
  std::vector<To> y(x.size());
  const void* const operands[] = {x.data()};
  conversion(dtype_of<From>, dtype_of<To>)(operands, y.data(), x.size());
  return y;
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
template <int fraction_bits>
std::uint32_t bits_of(HalfFloat<fraction_bits> x) {
  return x.bits();
}

/// Bit for bit, NaN too: the definition says what its payload is.
template <class From, class To>
void expect_definition(const std::vector<From>& x) {
  const std::vector<To> y = converted<From, To>(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto expected = static_cast<To>(x[i]);
    if (bits_of(y[i]) == bits_of(expected)) continue;
    FAIL() << std::hex << bits_of(x[i]) << " becomes " << bits_of(y[i])
           << " and not " << bits_of(expected);
  }
}

template <class Half>
class Conversions : public testing::Test {};
using Halves = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Conversions, Halves);

TYPED_TEST(Conversions, WidenEveryNumber) {
  std::vector<TypeParam> x;
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    x.push_back(TypeParam::from_bits(static_cast<std::uint16_t>(bits)));
  }
  on_every_target([&] { expect_definition<TypeParam, float>(x); });
}

// A dense sample of all floats, and those around every number and every tie.
TYPED_TEST(Conversions, NarrowAsTheDefinition) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 4093) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (std::uint32_t half = 0; half <= 0xFFFF; ++half) {
    const float number = TypeParam::from_bits(static_cast<std::uint16_t>(half));
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
    constexpr std::uint32_t gap =
        std::is_same_v<TypeParam, BFloat16> ? 1u << 16 : 1u << 13;
    for (const std::uint32_t beyond : {0u, gap / 2}) {
      for (const std::uint32_t by : {-1u, 0u, 1u}) {
        x.push_back(std::bit_cast<float>(bits + beyond + by));
      }
    }
  }
  // The ties of f16's subnormals lie elsewhere.
  for (int i = 0; i < 1024; ++i) {
    const float tie = (static_cast<float>(i) + 0.5f) * 0x1p-24f;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(tie);
    for (const std::uint32_t by : {-1u, 0u, 1u}) {
      x.push_back(std::bit_cast<float>(bits + by));
      x.push_back(-x.back());
    }
  }
  on_every_target([&] { expect_definition<float, TypeParam>(x); });
}

TYPED_TEST(Conversions, AreOfAnyLength) {
  std::vector<float> x;
  for (std::size_t n = 0; n < 70; ++n) {
    on_every_target([&] {
      expect_definition<float, TypeParam>(x);
      expect_definition<TypeParam, float>(converted<float, TypeParam>(x));
    });
    x.push_back(1.001f * static_cast<float>(n) - 20);
  }
}

TEST(Conversion, AreOnlyBetweenF32And16Bits) {
  EXPECT_EQ(conversion(bf16, f16), nullptr);
  EXPECT_EQ(conversion(f64, bf16), nullptr);
  EXPECT_EQ(conversion(f32, f32), nullptr);
}

}  // namespace
}  // namespace topos::kernels

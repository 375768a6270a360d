#include "topos/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "tensor/visit.h"
#include "topos/tensor.h"

namespace topos {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The scalar that holds the number, as text, or the refusal.
std::string converted(Number number, DType dtype) {
  try {
    return Tensor::full({dtype, {}}, number).text();
  } catch (const DTypeError& error) {
    return error.message();
  }
}

struct ConversionRow {
  const char* note;
  Number number;
  DType dtype;
  const char* expected;
};

// The expected values are IEEE 754 roundings and the ranges of two's
// complement.
// clang-format off
const ConversionRow rows[] = {
    {"integer to i32", 7, i32, "i32[]{7}"},
    {"integer to bf16", 257, bf16, "bf16[]{256}"},
    {"real to bf16", 1.003906250001, bf16, "bf16[]{1.0078125}"},
    {"real to f16", 65520.0, f16, "f16[]{inf}"},
    {"truth to f16", true, f16, "f16 cannot hold the number true"},
    {"least i32", -2147483648LL, i32, "i32[]{-2147483648}"},
    {"above i32", 2147483648LL, i32, "i32 cannot hold the number 2147483648"},
    {"below i32", -2147483649LL, i32, "i32 cannot hold the number -2147483649"},
    {"2^40 in i32", std::int64_t{1} << 40, i32, "i32 cannot hold the number 1099511627776"},
    {"2^53 + 1 in i64", 9007199254740993LL, i64, "i64[]{9007199254740993}"},
    {"greatest i64", std::numeric_limits<std::int64_t>::max(), i64, "i64[]{9223372036854775807}"},
    {"least i64", std::numeric_limits<std::int64_t>::min(), i64, "i64[]{-9223372036854775808}"},
    {"unsigned in i64", std::uint64_t{5}, i64, "i64[]{5}"},
    {"2^63 in i64", std::uint64_t{1} << 63, i64, "i64 cannot hold the number 9223372036854775808"},
    {"2^64 - 1 in f64", std::numeric_limits<std::uint64_t>::max(), f64, "f64[]{1.8446744073709552e+19}"},
    {"2^53 + 1 in f64", 9007199254740993LL, f64, "f64[]{9007199254740992}"},
    {"2^24 + 1 in f32", 16777217, f32, "f32[]{16777216}"},
    // By way of f64 this would be 2^62, a tie rounded twice.
    {"rounded once", (std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1, f32, "f32[]{4.6116866e+18}"},
    {"real whole in i32", 2.0, i32, "i32[]{2}"},
    {"minus zero in i32", -0.0, i32, "i32[]{0}"},
    {"2.5 in i32", 2.5, i32, "i32 cannot hold the number 2.5"},
    {"2.5 in i64", 2.5, i64, "i64 cannot hold the number 2.5"},
    {"2^63 as real in i64", 0x1p63, i64, "i64 cannot hold the number 9.223372036854776e+18"},
    {"-2^63 as real in i64", -0x1p63, i64, "i64[]{-9223372036854775808}"},
    {"2^31 as real in i32", 0x1p31, i32, "i32 cannot hold the number 2147483648"},
    {"NaN in i32", not_a_number, i32, "i32 cannot hold the number nan"},
    {"NaN in i64", not_a_number, i64, "i64 cannot hold the number nan"},
    {"infinity in i64", infinity, i64, "i64 cannot hold the number inf"},
    {"NaN in f32", not_a_number, f32, "f32[]{nan}"},
    {"infinity in f32", -infinity, f32, "f32[]{-inf}"},
    {"2.5 in f32", 2.5, f32, "f32[]{2.5}"},
    {"float in f64", 0.1f, f64, "f64[]{0.10000000149011612}"},
    {"minus zero in f32", -0.0, f32, "f32[]{-0}"},
    {"least subnormal", 0x1p-149, f32, "f32[]{1e-45}"},
    {"beyond f32", 1e39, f32, "f32[]{inf}"},
    {"truth", true, boolean, "boolean[]{true}"},
    {"truth in i32", true, i32, "i32 cannot hold the number true"},
    {"truth in f32", false, f32, "f32 cannot hold the number false"},
    {"1 in boolean", 1, boolean, "boolean cannot hold the number 1"},
    {"0.0 in boolean", 0.0, boolean, "boolean cannot hold the number 0"},
    {"character", 'a', i32, "i32[]{97}"},
    {"short", static_cast<std::int16_t>(-3), i64, "i64[]{-3}"},
};
// clang-format on

TEST(Number, TakesTheDTypeThatItMeetsOrIsRefused) {
  for (const ConversionRow& row : rows) {
    EXPECT_EQ(converted(row.number, row.dtype), row.expected) << row.note;
  }
}

TEST(Number, IsWhatWasWritten) {
  EXPECT_EQ(Number(2), Number(2L));
  EXPECT_FALSE(Number(2) == Number(2.0));
  EXPECT_FALSE(Number(1) == Number(true));
  EXPECT_EQ(Number(-5).text(), "-5");
  EXPECT_EQ(Number(std::numeric_limits<std::uint64_t>::max()).text(),
            "18446744073709551615");
}

TEST(DType, TablesAgreeWithTheElements) {
  const char* names[] = {"f32", "f64", "bf16", "f16", "i32", "i64", "boolean"};
  static_assert(std::size(names) == dtype_count);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(name(dtype), names[i]);
    visit_dtype(dtype, [&]<class T>() {
      EXPECT_EQ(dtype_of<T>, dtype);
      EXPECT_EQ(size_bytes(dtype), sizeof(T));
      EXPECT_EQ(is_floating(dtype), !std::is_integral_v<T>);
      EXPECT_EQ(is_half(dtype), sizeof(T) == 2);
      EXPECT_EQ(is_integer(dtype), (std::is_integral_v<T> && sizeof(T) > 1));
    });
  }
}

}  // namespace
}  // namespace topos

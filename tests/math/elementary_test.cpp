#include "math/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "reference.h"
#include "sampling.h"

namespace topos::math::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The function of this name, float and double.
const UnaryFunction& function(const std::string& name) {
  for (const UnaryFunction& f : unary_functions()) {
    if (f.name == name) return f;
  }
  ADD_FAILURE() << "no function " << name;
  return unary_functions()[0];
}

/// Exact in both types: from the definitions.
struct SpecialRow {
  const char* function;
  const char* note;
  double x;
  double expected;
};

// clang-format off
constexpr SpecialRow special_rows[] = {
    {"exp",      "zero",             0.0,    1.0},
    {"exp",      "minus zero",      -0.0,    1.0},
    {"exp",      "minus infinity",  -inf,    0.0},
    {"exp",      "infinity",         inf,    inf},
    {"exp",      "overflow",         1e3,    inf},
    {"exp",      "underflow",       -1e3,    0.0},
    {"exp",      "NaN",              nan,    nan},
    {"expm1",    "zero",             0.0,    0.0},
    {"expm1",    "minus zero",      -0.0,   -0.0},
    {"expm1",    "tiny",          -1e-30f, -1e-30f},
    {"expm1",    "minus infinity",  -inf,   -1.0},
    {"expm1",    "far left",        -1e3,   -1.0},
    {"expm1",    "infinity",         inf,    inf},
    {"expm1",    "NaN",              nan,    nan},
    {"ln",       "one",              1.0,    0.0},
    {"ln",       "zero",             0.0,   -inf},
    {"ln",       "minus zero",      -0.0,   -inf},
    {"ln",       "infinity",         inf,    inf},
    {"ln",       "negative",        -1.0,    nan},
    {"ln",       "minus infinity",  -inf,    nan},
    {"ln",       "NaN",              nan,    nan},
    {"log1p",    "zero",             0.0,    0.0},
    {"log1p",    "minus zero",      -0.0,   -0.0},
    {"log1p",    "tiny",           1e-30f,  1e-30f},
    {"log1p",    "minus one",       -1.0,   -inf},
    {"log1p",    "below minus one", -1.5,    nan},
    {"log1p",    "minus infinity",  -inf,    nan},
    {"log1p",    "infinity",         inf,    inf},
    {"log1p",    "NaN",              nan,    nan},
    {"tanh",     "zero",             0.0,    0.0},
    {"tanh",     "minus zero",      -0.0,   -0.0},
    {"tanh",     "tiny",          -1e-30f, -1e-30f},
    {"tanh",     "large",             50,    1.0},
    {"tanh",     "infinity",         inf,    1.0},
    {"tanh",     "minus infinity",  -inf,   -1.0},
    {"tanh",     "NaN",              nan,    nan},
    {"logistic", "zero",             0.0,    0.5},
    {"logistic", "minus zero",      -0.0,    0.5},
    {"logistic", "tiny",           1e-30f,   0.5},
    {"logistic", "infinity",         inf,    1.0},
    {"logistic", "minus infinity",  -inf,    0.0},
    {"logistic", "NaN",              nan,    nan},
    {"erf",      "zero",             0.0,    0.0},
    {"erf",      "minus zero",      -0.0,   -0.0},
    {"erf",      "large",            -50,   -1.0},
    {"erf",      "infinity",         inf,    1.0},
    {"erf",      "minus infinity",  -inf,   -1.0},
    {"erf",      "NaN",              nan,    nan},
    {"sin",      "zero",             0.0,    0.0},
    {"sin",      "minus zero",      -0.0,   -0.0},
    {"sin",      "tiny",          -1e-30f, -1e-30f},
    {"sin",      "infinity",         inf,    nan},
    {"sin",      "minus infinity",  -inf,    nan},
    {"sin",      "NaN",              nan,    nan},
    {"cos",      "zero",             0.0,    1.0},
    {"cos",      "minus zero",      -0.0,    1.0},
    {"cos",      "tiny",           1e-30f,   1.0},
    {"cos",      "infinity",         inf,    nan},
    {"cos",      "minus infinity",  -inf,    nan},
    {"cos",      "NaN",              nan,    nan},
    {"rsqrt",    "one",              1.0,    1.0},
    {"rsqrt",    "power of four", 0x1p-100, 0x1p50},
    {"rsqrt",    "zero",             0.0,    inf},
    {"rsqrt",    "minus zero",      -0.0,   -inf},
    {"rsqrt",    "infinity",         inf,    0.0},
    {"rsqrt",    "negative",        -1.0,    nan},
    {"rsqrt",    "minus infinity",  -inf,    nan},
    {"rsqrt",    "NaN",              nan,    nan},
};
// clang-format on

TEST(Elementary, SpecialValues) {
  for (const SpecialRow& row : special_rows) {
    SCOPED_TRACE(std::string(row.function) + ", " + row.note);
    const UnaryFunction& f = function(row.function);
    EXPECT_PRED2([](float a, float b) { return same(a, b); },
                 f.ours(static_cast<float>(row.x)),
                 static_cast<float>(row.expected));
    EXPECT_PRED2([](double a, double b) { return same(a, b); },
                 f.ours_double(row.x), row.expected);
  }
}

/// Correct roundings by MPFR, where an answer in double alone is not enough
/// or the result is at an end of its range.
struct HardRow {
  const char* function;
  const char* note;
  float x;
};

// clang-format off
constexpr HardRow hard_rows[] = {
    {"exp",      "last finite",        0x1.62e42ep+6f},
    {"exp",      "first infinite",     0x1.62e430p+6f},
    {"exp",      "least subnormal",   -0x1.9fe368p+6f},
    {"exp",      "first zero",        -0x1.9fe36ap+6f},
    {"exp",      "first subnormal",   -0x1.5d58a2p+6f},
    {"logistic", "cubic term, above",  0x1p-23f},
    {"logistic", "cubic term, below", -0x1p-24f},
    {"logistic", "cubic, 3 steps",     0x1.8p-22f},
    {"logistic", "least subnormal",   -0x1.9fe368p+6f},
    {"tanh",     "rounds to 1",        0x1.205968p+3f},
    {"erf",      "subnormal",          0x1p-130f},
    {"erf",      "becomes normal",     0x1.c5bf8ap-127f},
    {"erf",      "rounds to 1",        0x1.f5a888p+1f},
    {"ln",       "subnormal",          0x1p-149f},
    {"ln",       "next to one",        0x1.000002p+0f},
    {"ln",       "largest",            0x1.fffffep+127f},
    {"rsqrt",    "subnormal",          0x1p-149f},
    {"sin",      "near pi",            0x1.921fb6p+1f},
    {"cos",      "near pi / 2",        0x1.921fb6p+0f},
    {"sin",      "largest",            0x1.fffffcp+127f},
    {"cos",      "largest",            0x1.fffffcp+127f},
};

/// The double closest to a multiple of pi / 2, 2^-60.9 away [Muller, Elementary
/// Functions, 3rd ed., ch. 11]: the reduction's worst case.
constexpr double closest_to_quarters = 0x1.6ac5b262ca1ffp+849;
// clang-format on

TEST(Elementary, HardFloats) {
  BigFloat value(300);
  for (const HardRow& row : hard_rows) {
    SCOPED_TRACE(std::string(row.function) + ", " + row.note);
    const UnaryFunction& f = function(row.function);
    // The row and its neighbours.
    for (int step = -3; step <= 3; ++step) {
      const auto x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(row.x) +
                                          static_cast<std::uint32_t>(step));
      if (x <= 0.0f && row.x > 0.0f) continue;
      mpfr_set_flt(value.get(), x, MPFR_RNDN);
      f.mpfr(value.get(), value.get());
      EXPECT_PRED2([](float a, float b) { return same(a, b); }, f.ours(x),
                   mpfr_get_flt(value.get(), MPFR_RNDN))
          << "at " << ::testing::PrintToString(x);
    }
  }
}

// Every 1021st float from a random one on: all exponents and both signs.
TEST(Elementary, FloatsAreCorrectlyRounded) {
  std::mt19937_64 generator = seeded_generator();
  constexpr std::uint32_t stride = is_sanitized ? 51001 : 1021;
  const auto start = static_cast<std::uint32_t>(generator() % stride);
  for (const UnaryFunction& f : unary_functions()) {
    FloatReference reference;
    int wrong = 0;
    for (std::uint64_t bits = start; bits < (std::uint64_t{1} << 32);
         bits += stride) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      const float expected = reference(f, x);
      const float result = f.ours(x);
      if (same(result, expected) || ++wrong > 5) continue;
      ADD_FAILURE() << f.name << " at bits " << bits << ": " << result
                    << ", expected " << expected;
    }
    EXPECT_EQ(wrong, 0) << f.name;
  }
}

/// |result - exact| in units in the last place of exact. 0 where the result is
/// the exact value rounded and so not in doubt (infinities).
double ulp_error(double result, mpfr_ptr exact) {
  if (mpfr_nan_p(exact) != 0) return std::isnan(result) ? 0.0 : inf;
  if (std::isnan(result)) return inf;
  if (!std::isfinite(result) || mpfr_regular_p(exact) == 0) {
    return same(result, mpfr_get_d(exact, MPFR_RNDN)) ? 0.0 : inf;
  }
  const mpfr_exp_t unit = std::max<mpfr_exp_t>(mpfr_get_exp(exact) - 53, -1074);
  mpfr_sub_d(exact, exact, result, MPFR_RNDN);
  mpfr_mul_2si(exact, exact, -unit, MPFR_RNDN);
  return std::fabs(mpfr_get_d(exact, MPFR_RNDN));
}

/// Where a function's doubles are sampled, beside random bits.
struct DoubleRow {
  const char* function;
  double low;
  double high;
};

// clang-format off
constexpr DoubleRow double_rows[] = {
    {"exp",       -1.0,   1.0},
    {"exp",     -745.2, 709.8},
    {"expm1",     -0.1,   0.1},
    {"expm1",    -40.0, 709.8},
    {"ln",         0.9,   1.1},
    {"ln",         0.0,   4.0},
    {"ln",         0.0, 1e300},
    {"log1p",     -0.1,   0.1},
    {"log1p",     -1.0,   4.0},
    {"tanh",      -0.1,   0.1},
    {"tanh",     -20.0,  20.0},
    {"logistic",  -1.0,   1.0},
    {"logistic", -745.2, 40.0},
    {"erf",       -0.2,   0.2},
    {"erf",       -6.0,   6.0},
    {"sin",       -0.1,   0.1},
    {"sin",      -10.0,  10.0},
    {"sin",       -1e9,   1e9},
    {"cos",      -10.0,  10.0},
    {"cos",       -1e9,   1e9},
    {"rsqrt",      1.0,   4.0},
    {"rsqrt",      0.0, 1e300},
};
// clang-format on

class DoubleError : public ::testing::Test {
 protected:
  void measure(const UnaryFunction& f, double x) {
    mpfr_set_d(exact_.get(), x, MPFR_RNDN);
    if (std::isfinite(x) && x != 0.0) {
      f.mpfr(exact_.get(), exact_.get());
    } else {
      return;  // SpecialValues
    }
    const double error = ulp_error(f.ours_double(x), exact_.get());
    if (error > worst_) {
      worst_ = error;
      worst_x_ = x;
    }
  }

  void report(const UnaryFunction& f, const std::string& where) {
    EXPECT_LT(worst_, 0.52) << f.name << ", " << where << ", at " << worst_x_;
    std::printf("%-8s %-22s %.4f ulp at %a\n", f.name, where.c_str(), worst_,
                worst_x_);
    worst_ = 0.0;
  }

 private:
  BigFloat exact_{128};
  double worst_ = 0.0;
  double worst_x_ = 0.0;
};

TEST_F(DoubleError, IsBelowOneUlp) {
  std::mt19937_64 generator = seeded_generator();
  for (const DoubleRow& row : double_rows) {
    const UnaryFunction& f = function(row.function);
    std::uniform_real_distribution<double> uniform(row.low, row.high);
    for (std::uint32_t i = 0; i < sample_size(25'000); ++i) {
      measure(f, uniform(generator));
    }
    report(f, "[" + ::testing::PrintToString(row.low) + ", " +
                  ::testing::PrintToString(row.high) + "]");
  }
  for (const char* name : {"sin", "cos"}) {
    measure(function(name), closest_to_quarters);
    report(function(name), "reduction's worst case");
  }
  // Of random bits only every tenth exponent or so is of interest.
  for (const UnaryFunction& f : unary_functions()) {
    for (std::uint32_t i = 0; i < sample_size(50'000); ++i) {
      measure(f, std::bit_cast<double>(generator()));
    }
    report(f, "random bits");
    for (std::uint32_t i = 0; i < sample_size(5'000); ++i) {
      // Subnormals, and numbers near 1 whose last bits alone vary.
      measure(f, std::bit_cast<double>(generator() >> 14));
      measure(f, 1.0 + static_cast<double>(generator() >> 32) * 0x1p-52);
    }
    report(f, "subnormals, near 1");
  }
}

/// A function's doubles at the same inputs everywhere, hashed.
struct BitsRow {
  const char* function;
  std::uint64_t hash;
};

// No outside source has these numbers: they were computed once, by GCC 12 on
// x86-64, and say that no compiler or machine may give other bits.
// clang-format off
constexpr BitsRow bits_rows[] = {
    {"exp",      0xcb715ab765bfa9e5},
    {"expm1",    0xfdf5f46e992ccd33},
    {"ln",       0xd1396428db41c02f},
    {"log1p",    0x84d60c594f3e1954},
    {"tanh",     0x2d646f6d8dd859cf},
    {"logistic", 0x74d83ef4151b0ed6},
    {"erf",      0x0d9a67b571b0d1ad},
    {"sin",      0xc75d5c45227f3ad3},
    {"cos",      0x35e76d51ff11e620},
    {"rsqrt",    0x58e68327a0fa9eb7},
    {"pow",      0x129403b09c3963a9},
};
// clang-format on

TEST(Elementary, DoubleBitsAreTheSameEverywhere) {
  for (const BitsRow& row : bits_rows) {
    const std::string name = row.function;
    std::uint64_t state = 1;
    const auto random = [&state] {  // Knuth's multiplier, MMIX
      state = state * 6364136223846793005 + 1442695040888963407;
      return static_cast<double>(state >> 11) * 0x1p-53;
    };
    std::uint64_t hash = 0;
    for (int i = 0; i < 20'000; ++i) {
      // Both signs, sizes from 2^-30 to 2^10.
      const double size =
          std::bit_cast<double>(std::uint64_t{1023 - 30 + i % 40u} << 52);
      const double x = (random() + 1.0) * (i % 3 == 0 ? -size : size);
      const double y = name == "pow" ? pow(std::fabs(x), 8.0 * random() - 4.0)
                                     : function(name).ours_double(x);
      const auto bits = std::bit_cast<std::uint64_t>(y);
      // FNV-1a by words; a NaN's bits mean nothing.
      hash = (hash ^ (std::isnan(y) ? 0 : bits)) * 0x100000001b3;
    }
    EXPECT_EQ(hash, row.hash) << name;
  }
}

}  // namespace
}  // namespace topos::math::testing
